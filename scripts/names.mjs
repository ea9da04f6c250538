// Which property names the view's script may shorten: those that the view declares for itself, and that nothing else knows.
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import ts from "typescript";

/**
 * The names.
 *
 * A name is left alone where any use of it is of something declared elsewhere, where code computes the names it reads, and
 * where a value comes from a document or goes into one.
 *
 * @param folder where the view's files are
 * @param open those of them whose names a host, a document or a library knows
 */
export function ownNames(folder, open) {
  const files = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && !name.startsWith("testing"))
    .map((name) => resolve(folder, name));
  const ours = new Set(files.filter((file) => !open.some((name) => resolve(folder, name) === file)));
  const config = ts.readConfigFile("tsconfig.json", ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, resolve("."));
  const program = ts.createProgram([...files, resolve("src/widget.ts")], { ...options, types: [] });
  const checker = program.getTypeChecker();
  const own = new Set();
  const known = new Set();

  const from = (symbol) => symbol?.declarations?.every((one) => ours.has(one.getSourceFile().fileName));
  const every = (type, depth = 0) => {
    for (const part of type.isUnionOrIntersection() ? type.types : [type]) {
      for (const property of from(part.symbol) || part.isTypeParameter() ? part.getApparentProperties() : []) {
        known.add(property.name);
        if (depth < 4) {
          every(checker.getTypeOfSymbol(property), depth + 1);
        }
      }
      checker.getTypeArguments(part).forEach((inner) => depth < 4 && every(inner, depth + 1));
    }
  };
  const loose = (type) => !type || type.getStringIndexType() || type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown);
  // A place in a list is no name.
  const numeric = (place) => Boolean(checker.getTypeAtLocation(place).flags & ts.TypeFlags.NumberLike);
  const uses = (name, symbol) => from(symbol) || known.add(name.text);

  function look(node, file) {
    if (
      ts.isIdentifier(node.name ?? node) &&
      (ts.isClassElement(node) || ts.isTypeElement(node) || ts.isParameterPropertyDeclaration(node, node.parent))
    ) {
      (ours.has(file) ? own : known).add(node.name.text);
    }
    if (ts.isPropertyAccessExpression(node)) {
      uses(node.name, checker.getSymbolAtLocation(node.name));
    } else if (ts.isBindingElement(node) && ts.isObjectBindingPattern(node.parent)) {
      const name = node.propertyName ?? node.name;
      uses(name, checker.getTypeAtLocation(node.parent).getProperty(name.text));
    } else if (ts.isElementAccessExpression(node) && !numeric(node.argumentExpression)) {
      every(checker.getTypeAtLocation(node.expression));
    } else if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.InKeyword) {
      every(checker.getTypeAtLocation(node.right));
    } else if (ts.isAsExpression(node) && loose(checker.getTypeAtLocation(node.expression))) {
      every(checker.getTypeAtLocation(node));
    } else if (ts.isCallExpression(node) && /^(Object|JSON|Reflect)\./.test(node.expression.getText())) {
      const into = checker.getContextualType(node);
      [...node.arguments.map((one) => checker.getTypeAtLocation(one)), ...(into ? [into] : [])].forEach((type) => every(type));
    } else if (ts.isObjectLiteralExpression(node)) {
      const wanted = checker.getContextualType(node);
      for (const { name } of node.properties) {
        if (name && ts.isIdentifier(name)) {
          uses(name, loose(wanted) ? undefined : (wanted.getProperty(name.text) ?? wanted.getNonNullableType().getProperty(name.text)));
        }
      }
    }
    ts.forEachChild(node, (child) => look(child, file));
  }
  for (const source of program.getSourceFiles().filter((one) => !one.isDeclarationFile)) {
    look(source, source.fileName);
  }
  return [...own].filter((name) => name.length > 2 && !known.has(name)).sort();
}
