/** The look. Colours are Okabe-Ito for lines and fills; text has colours of its own that keep 4.5:1. */

import { FAMILY_SIGN, lookOf } from "./families";
import type { Family } from "./wire";

/** A colour between two. */
function between(a: string, b: string, part: number): string {
  const channel = (colour: string, i: number): number => parseInt(colour.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) => Math.round(channel(a, i) * part + channel(b, i) * (1 - part)));
  return `#${mixed.map((n) => n.toString(16).padStart(2, "0")).join("")}`;
}

/** A family's colour, the tint of its boxes, and their edge. */
function families(colours: Record<Exclude<Family, "" | "light">, string>, ground: string, line: string): Record<string, string> {
  return Object.fromEntries(
    Object.entries(colours).flatMap(([name, colour]) => [
      [`f-${name}`, colour],
      [`t-${name}`, between(colour, ground, 0.1)],
      [`e-${name}`, between(colour, line, 0.4)],
    ]),
  );
}

/** Steps of one colour, for what a picture is coloured by. */
const STEPS = [0, 1, 2, 3, 4];
const HEATS = STEPS.map((step) => `.node.heat-${step} .body{fill:$heat-${step}}.cell.heat-${step}{background:$heat-${step}}`).join("\n");

function heats(colour: string, ground: string): Record<string, string> {
  return Object.fromEntries(STEPS.map((step) => [`heat-${step}`, between(colour, ground, 0.04 + 0.12 * step)]));
}

export const LIGHT = {
  bg: "var(--jp-layout-color1, #ffffff)",
  fg: "var(--jp-ui-font-color0, #1b1f24)",
  soft: "#f5f7f9",
  muted: "#57606a",
  line: "#d0d7de",
  strong: "#8c959f",
  blue: "#0072b2",
  "blue-text": "#0b63a0",
  wrong: "#d55e00",
  "wrong-text": "#ad4400",
  "wrong-soft": "#fff4ec",
  badge: "#b34700",
  good: "#009e73",
  "good-text": "#006b4e",
  "good-soft": "#eefaf5",
  int: "#b5568f",
  "on-accent": "#ffffff",
  hatch: "#dfe3e8",
  ...families(
    {
      convolution: "#0072b2",
      dense: "#8a5a00",
      recurrent: "#7b3fa0",
      attention: "#b0307f",
      embedding: "#00708a",
      normalization: "#00735c",
      activation: "#5f6b00",
      shape: "#4c6172",
      merge: "#3d444d",
      other: "#656d76",
      own: "#1b1f24",
      op: "#6a6157",
    },
    "#ffffff",
    "#d0d7de",
  ),
  ...heats("#0072b2", "#ffffff"),
};

export const DARK: typeof LIGHT = {
  bg: "var(--jp-layout-color1, #15181d)",
  fg: "var(--jp-ui-font-color0, #e9eef3)",
  soft: "#1f242b",
  muted: "#a9b3bf",
  line: "#3a424c",
  strong: "#6f7a87",
  blue: "#3d9fdc",
  "blue-text": "#6fbdf0",
  wrong: "#f07a26",
  "wrong-text": "#ff9d5c",
  "wrong-soft": "#35241a",
  badge: "#f07a26",
  good: "#1fb78a",
  "good-text": "#4fd6ab",
  "good-soft": "#15302a",
  int: "#d78fba",
  "on-accent": "#0b0e12",
  hatch: "#343b45",
  ...families(
    {
      convolution: "#5cb8f0",
      dense: "#e5b04a",
      recurrent: "#c79be8",
      attention: "#f28cc8",
      embedding: "#5fcfe0",
      normalization: "#4fd6ab",
      activation: "#c6d24a",
      shape: "#a9bccb",
      merge: "#d0d7de",
      other: "#a9b3bf",
      own: "#e9eef3",
      op: "#c4b8a8",
    },
    "#15181d",
    "#3a424c",
  ),
  ...heats("#3d9fdc", "#15181d"),
};

const vars = (set: typeof LIGHT): string =>
  Object.entries(set)
    .map(([name, value]) => `--${name}:${value}`)
    .join(";");

/** Each family's rules: a drawing that is saved has no custom properties. */
const FAMILIES = Object.keys(FAMILY_SIGN)
  .map((name) => lookOf(name as Family))
  .map(
    (name) => `.fam-${name} .family,.family.fam-${name}{fill:$f-${name}}.sample.fam-${name}{background:$f-${name}}
.node:where(.fam-${name}:not(.not-reached)) .body{stroke:$e-${name}}.node:where(.fam-${name}:not(.open,.not-reached)) .body{fill:$t-${name}}`,
  )
  .join("\n");

const MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";
const SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif";

/** The rules with each colour's name spelled out, `$line` for `var(--line)`, and the properties that stand everywhere: each byte is sent to every page. */
function spelled(rules: string): string {
  return rules
    .replace(/\$([\w-]+)/g, "var(--$1)")
    .replace(
      /([{;])(dash|weight|size|round|thick|pad|ground):/g,
      (_, before: string, word: keyof typeof SHORT) => `${before}${SHORT[word]}:`,
    );
}

const SHORT = {
  dash: "stroke-dasharray",
  weight: "font-weight",
  size: "font-size",
  round: "border-radius",
  thick: "stroke-width",
  pad: "padding",
  ground: "background",
};

/** What the drawing needs; an exported SVG takes this along with the colours filled in. */
export const DRAWING = spelled(`
.graph text{font-family:${SANS};fill:$fg;size:11px;white-space:pre}
.node .body{fill:$soft;stroke:$line;thick:1}
.node .behind{fill:$bg;stroke:$line}
.node.open .body{fill:$soft;fill-opacity:.45;stroke:$line;dash:none}
.node.open>text{paint-order:stroke;stroke:$bg;thick:5px;stroke-linejoin:round}
.node .kind{fill:$strong}
.graph .family-text{fill:$on-accent;size:11px;weight:700}
${FAMILIES}
${HEATS}
.node.heat .sub,.node.heat .place,.node.heat .note-text{fill:$fg}.node.heat .place{weight:700}.heat-bar{fill:$blue}
.node.not-reached .family{fill:$strong}
.node.stage .kind{fill:$int}.node.input .kind,.node.output .kind{fill:$good}
.node.loss .kind,.node.metric .kind{fill:$fg}
.node .name{size:13px;weight:600}
.tiny text{display:none}
.graph .node>text.family-text{stroke:none}
.node .sub,.node .place{fill:$muted}
.node .place{font-family:${MONO};size:10px}
.node .note-text{fill:$fg}
.node.not-reached .body{dash:5 4;stroke:$strong;fill:$bg}
.node.not-reached .kind{fill:$strong}
.node.not-reached .name{fill:$muted}
.node .hatch{fill:url(#hatch);stroke:none}
.node.not-reached text{paint-order:stroke;stroke:$bg;thick:3px;stroke-linejoin:round}
.node:is(.failed,.error,.tpu)>.body{stroke:$wrong;thick:2.2;fill:$wrong-soft}
.node.silent>.body{stroke:$wrong;thick:2;dash:1 3;stroke-linecap:round}
.node.slow>.body{stroke:$strong;thick:2;dash:6 3}
.node.open:is(.failed,.error,.tpu)>.body{thick:1.5;fill:$soft}
.toggle rect{fill:transparent}.toggle path{fill:none;stroke:$muted;thick:2;stroke-linecap:round;stroke-linejoin:round}
.times{fill:$bg;stroke:$blue}.times-text{fill:$blue-text!important;weight:600}
.cell{fill:$blue;fill-opacity:.42}.cell.copied{fill:none;stroke:$blue;stroke-opacity:.6}.cell.odd{fill:$bg;fill-opacity:1;stroke:$wrong;thick:2}
.graph .cell-index{fill:$wrong-text;size:9px;weight:700}
.pill rect{fill:$bg;stroke:$strong}.pill text{fill:$muted;size:10.5px}
.badge circle{fill:$badge;stroke:$bg;thick:2}
.badge text{size:11px;weight:700;fill:$on-accent}
.badge:is(.slow,.note) circle{fill:$bg;stroke:$strong}.badge:is(.slow,.note) text{fill:$fg}
.badge.silent circle{fill:$bg;stroke:$wrong}.badge.silent text{fill:$wrong-text;size:13px}
.line path{fill:none}
.line .hit{stroke:transparent;thick:12}
.line .stroke{stroke:$blue;thick:1.7}
.line .arrow{fill:$blue}
.line.half .stroke{stroke:$good;dash:9 3}.line.half .arrow{fill:$good}
.line.int .stroke{stroke:$int;dash:3 3}.line.int .arrow{fill:$int}
.line.other .stroke{stroke:$strong;dash:1 3}.line.other .arrow{fill:$strong}
.line.not-reached .stroke{stroke:$strong;thick:1.3;dash:4 5}.line.not-reached .arrow{fill:$bg;stroke:$strong}
.line.slow .stroke{stroke:$strong;thick:4;dash:.1 7;stroke-linecap:round}
.line.silent .stroke{stroke:$wrong;thick:5;dash:none}.line.silent .core{stroke:$bg;thick:2}.line.silent .arrow{fill:$wrong}
.line:is(.failed,.error,.tpu) .stroke{stroke:$wrong;thick:3;dash:8 5}
.line:is(.failed,.error,.tpu) .arrow{fill:$wrong}
.label text{font-family:${MONO};fill:$muted;paint-order:stroke;stroke:$bg;thick:4px;stroke-linejoin:round}
.label .dtype{fill:$fg;weight:600}
.label.wrong text{size:12px;fill:$fg}
.label.wrong .word{fill:$muted}.label.wrong :is(.gets,.wants) .differs{weight:800}
.label.wrong .gets .differs{fill:$wrong-text}
.diff-sign rect{fill:$bg;stroke:$fg;thick:1.5}.diff-sign text{size:13px;weight:700}
.node.diff-added>.body{stroke:$good;thick:2.4}.diff-sign.diff-added rect{fill:$good-soft;stroke:$good}
.node.diff-removed>.body{stroke:$wrong;thick:2;dash:6 4;fill:$bg}.diff-sign.diff-removed rect{fill:$wrong-soft;stroke:$wrong}
.node.diff-removed>.name{text-decoration:line-through;fill:$muted}
.node.diff-changed>.body{stroke:$fg;thick:1.8}
.line.diff-added .stroke{stroke:$good;thick:2.6;dash:none}.line.diff-added .arrow{fill:$good}
.line.diff-removed .stroke{stroke:$wrong;thick:1.4;dash:2 5}.line.diff-removed .arrow{fill:$bg;stroke:$wrong}
.lane-title{fill:$muted!important;letter-spacing:.06em}
.hatch-line{stroke:$hatch;thick:4}
`);

export const STYLE = spelled(`
:host{display:block}
.tps{${vars(LIGHT)};box-sizing:border-box;display:flex;flex-direction:column;height:100%;min-height:0;ground:$bg;color:$fg;font:13px/1.45 ${SANS};text-align:left;position:relative;overflow:hidden;round:6px}
.tps[data-theme=dark]{${vars(DARK)};color-scheme:dark}
.tps *{box-sizing:border-box}
:where(.tps) :where(h1,h2,h3,h4,p,ul,ol,dl,dd,pre){margin:0;pad:0;list-style:none}
.head{display:flex;flex-wrap:wrap;align-items:center;gap:8px;pad:9px 14px;border-bottom:1px solid $line}
.verdict{size:14px;weight:700;display:flex;gap:7px;align-items:baseline;margin:0}
.verdict:not(.two) .sign,.verdict:not(.ok,.two) .much{color:$wrong-text}.verdict.ok .sign{color:$good-text}
.chip{border:1px solid $line;round:11px;pad:1px 9px;size:12px;color:$muted;white-space:nowrap}
.seek{display:flex;gap:14px;align-items:center;flex:1 1 200px;min-width:200px;justify-content:flex-end}
.search{display:flex;align-items:center;gap:6px;min-width:0}.seek button{white-space:nowrap}
.search input,.legend select{font:inherit;size:12px;color:$fg;ground:$bg;border:1px solid $strong;round:6px}.search input{pad:4px 8px;width:190px;min-width:60px;text-overflow:ellipsis}
.search .hits{size:12px;color:$muted;white-space:nowrap}
button,summary{font:inherit;size:12px;cursor:pointer}
.tps button{color:$fg;ground:$bg;border:1px solid $strong;round:6px;pad:3px 10px}
.tps button:hover{ground:$soft}
.tps button.primary{ground:$blue;border-color:$blue;color:$on-accent;weight:600}
.tps :focus-visible{outline:2px solid $blue;outline-offset:2px}
.tps button:disabled{opacity:.55;cursor:default}
.menu>ul,.keys{position:absolute;ground:$bg;border:1px solid $strong;round:8px}.menu{position:relative;flex:none}.menu>ul{right:0;top:calc(100% + 4px);z-index:9;pad:4px;min-width:200px;box-shadow:0 6px 22px #0003}
.menu li button{width:100%;text-align:left;border:0;pad:6px 8px}
.body{flex:1 1 auto;display:flex;min-height:0}
.canvas{position:relative;flex:1 1 0;min-width:0;overflow:hidden;display:flex;flex-direction:column}
.ground{position:relative;flex:1 1 0;min-height:0;display:flex;overflow:hidden}.far{position:absolute;left:0;top:0;transform-origin:0 0;will-change:transform}
.graph{position:relative;display:block;width:100%;flex:1 1 0;min-height:0;cursor:grab;touch-action:none;user-select:none;outline-offset:-3px!important}
.graph.dragging{cursor:grabbing}
.node,.line,.label.tensor,.pill,.toggle{cursor:pointer}
.node{transition:transform .22s ease}
.still .node,.reduced .node{transition:none}
.node:hover>.body{stroke:$strong}
.toggle:hover rect{fill:$line}
.node.selected>.body{stroke:$blue;thick:2.5}
.line.selected .stroke{thick:3.5}.line.followed .stroke{stroke:$fg;thick:4}.line.followed .arrow{fill:$fg}.turns{size:12px;margin-top:6px}
.line.changed .stroke{stroke:$good;thick:2.6}.line.changed .arrow{fill:$good}.label .was{fill:$good-text}
.line.lit .stroke{thick:3}.line.lit:is(.failed,.error) .stroke{thick:3.5}
.node.lit:not(.open,.error,.tpu,.failed,.silent)>.body{stroke:$wrong;thick:1.3}
.node.changed>.body{fill:$good-soft;stroke:$good;thick:2.4}.node.changed .note-text{fill:$good-text;weight:700}
.banner{position:relative;z-index:1;flex:none;display:flex;gap:10px;align-items:center;pad:5px 52px 5px 12px;border-bottom:2px solid $good;ground:$good-soft;weight:600}
.banner.compared{border-color:$strong;ground:$bg;flex-wrap:wrap}.tps .state{border:1.5px solid $fg;weight:700}.tps .state.diff-added{border-color:$good;ground:$good-soft}
.tps .state.diff-removed{border-color:$wrong;border-style:dashed;ground:$wrong-soft}.list .state{flex:none;width:20px;height:20px;round:4px;display:grid;place-items:center}.changes{size:11.5px;pad:2px 10px 0 38px}
.tps button[aria-pressed=true]{border-color:$good;box-shadow:inset 0 0 0 1px $good}
.node.match>.body{fill:$good-soft;stroke:$good;thick:2}
.tools{position:absolute;right:10px;top:calc(10px + var(--above,0px));display:flex;flex-direction:column;gap:4px}
.tps .tools button{width:30px;height:28px;pad:0;size:15px;line-height:1}
.canvas::before{content:"";position:absolute;inset:0 0 auto;height:14px;ground:linear-gradient($bg,transparent);pointer-events:none}
.legend,.map{position:absolute;bottom:10px;ground:$bg;border:1px solid $line;round:8px}.legend{left:10px;max-height:calc(100% - 20px);overflow:auto}
.legend summary{pad:3px 10px;color:$muted;min-height:26px}.legend li button,.wide button,.tps .legend select{min-height:25px}.legend ul{pad:0 4px 4px}
.tps .legend li button{border:0;pad:1px 6px;display:flex;gap:6px;width:100%;ground:none;align-items:center}
.tps .legend button[aria-pressed=true]{box-shadow:inset 0 0 0 1.5px $good}
.sample{width:15px;height:15px;round:4px;color:$on-accent;size:11px;weight:700;display:grid;place-items:center;line-height:1}
.legend select{margin:0 8px 6px;max-width:200px}
.legend ol{pad:0 4px 4px;max-height:230px;overflow:auto}.legend p{pad:0 10px 3px;size:11px}
.legend .who{flex:1;text-align:left}.legend .who,.wide td,.wide td button{max-width:130px;overflow:hidden;text-overflow:ellipsis}.wide td{max-width:138px}.legend .who,.wide :is(td,th){overflow-wrap:normal;white-space:nowrap}
.scale{display:flex;gap:2px;align-items:center;pad:0 10px 4px;size:11px}.scale .cell{width:22px;height:10px;border:1px solid $line}
.wide{overflow:auto;margin-top:8px}.wide tr>:first-child{position:sticky;left:0;ground:$bg}.tps .wide th button{border:0;pad:0;ground:none;color:$muted;weight:600}
.wide [aria-sort=ascending] button::after{content:" ▴"}.wide [aria-sort=descending] button::after{content:" ▾"}
.keys{right:48px;top:10px;z-index:2;pad:8px 14px;max-width:330px}
.keys dl{display:grid;grid-template-columns:auto 1fr;gap:2px 12px}.keys kbd{font-family:${MONO};size:11px;border:1px solid $line;round:4px;pad:0 4px;white-space:nowrap}
.map{right:10px;cursor:pointer}
.side{flex:0 0 400px;min-width:0;max-width:46%;border-left:1px solid $line;display:flex;flex-direction:column;min-height:0}
.tabs{display:flex;flex-wrap:wrap;gap:2px;border-bottom:1px solid $line;pad:6px 10px 0}
.tps .tabs button{border:0;border-bottom:3px solid transparent;round:0;pad:4px 7px 6px;color:$muted;white-space:nowrap}
.tps .tabs button[aria-selected=true]{color:$fg;border-color:$blue;weight:600}
.side,.lead,.about,.aged,.banner{overflow-wrap:anywhere}
.pane{flex:1 1 auto;overflow:auto;pad:12px 16px 20px;min-height:0}
.tps .pane:focus-visible{outline-offset:-3px}
.eyebrow,.section{size:11px;letter-spacing:.07em;weight:700;color:$muted;text-transform:uppercase}.eyebrow{display:flex;align-items:center;gap:6px;margin-bottom:6px}
.eyebrow .grow{flex:1}.eyebrow .row{flex-wrap:nowrap}
.title{size:15.5px;line-height:1.35;weight:700;margin-bottom:10px}
.mono,.sides,.diff,code{font-family:${MONO};size:12px}.title code,h4 code{size:.9em}
.tps .sides{display:grid;grid-template-columns:fit-content(55%) 1fr;gap:3px 12px;margin:0 0 10px;pad:8px 12px;ground:$wrong-soft;border-left:3px solid $wrong;round:3px 7px 7px 3px;size:12.5px}
.sides dt{color:$muted}.sides dt:empty{display:none}.sides dt:empty+dd{grid-column:1/-1}.sides dd{color:$fg}.sides b{weight:800}.sides .gets b{color:$wrong-text}
.why{color:$fg;margin-bottom:8px}
.muted{color:$muted}
.row{display:flex;flex-wrap:wrap;gap:6px;align-items:center}
.way{margin:4px 0 10px}
.tps .link{border:0;ground:none;pad:0;color:$blue-text;text-decoration:underline;text-underline-offset:4px;text-align:left}
.card{border:1px solid $line;round:9px;ground:$soft;pad:11px 12px;margin-top:10px}
.card.verified{border-color:$good}
.card.live{border-color:$good;border-style:dashed}
.result{size:12.5px;margin-top:2px}.card p+.row,.diff+.row{margin-top:8px}
.card h4{size:13px;weight:700}
.tried{size:12px;weight:700;color:$good-text;white-space:nowrap}
.untried{size:12px;color:$muted}
.diff{ground:$bg;border:1px solid $line;round:6px;margin:8px 0;pad:6px 0;overflow:auto;line-height:1.5;max-height:260px;tab-size:4}
.diff div{pad:0 10px;white-space:pre-wrap}.diff b{text-decoration:underline}
.diff .add{ground:$good-soft;color:$good-text}.diff .del{ground:$wrong-soft;color:$wrong-text}.diff .hunk{color:$muted}
.section{margin-top:16px}
.rejected{color:$muted;margin-top:4px}.rejected li::before{content:"✗ "}
.list>li{margin-top:6px}
.tps .list .entry{display:flex;gap:8px;width:100%;text-align:left;border:1px solid $line;round:8px;pad:7px 10px;size:12.5px}
.tps .list .entry[aria-current=true]{border-color:$blue;box-shadow:inset 3px 0 0 $blue}
.sev{flex:none;width:20px;height:20px;round:50%;display:grid;place-items:center;size:12px;weight:800;border:2px solid $strong}
.sev.error,.sev.tpu{ground:$badge;border-color:$badge;color:$on-accent}.sev.silent{border-color:$wrong;color:$wrong-text}
table{color:inherit;border-collapse:collapse;width:100%;size:12px;margin-top:6px}
th,td{text-align:left;pad:3px 8px 3px 0;border-bottom:1px solid $line;vertical-align:baseline}
th{color:$muted;weight:600;white-space:nowrap}tr.odd td{color:$wrong-text;weight:700}
.message{white-space:pre-wrap;font-family:${MONO};size:11.5px;ground:$soft;border:1px solid $line;round:6px;pad:8px;margin-top:6px;max-height:240px;overflow:auto}
.bar{display:grid;grid-template-columns:112px 1fr 118px;gap:8px;align-items:center;size:12px;margin-top:4px;min-height:21px}
.bar>:last-child{size:11px;text-align:right}.bar svg{display:block;width:100%;height:12px}.bar .used{fill:$blue}.bar .pad{fill:url(#bar-hatch);stroke:$blue}.bar .room{fill:$soft;stroke:$line}
.said+.said{margin-top:22px;padding-top:14px;border-top:1px solid $line}
.whole{white-space:nowrap}
.curve{display:block;width:100%;height:auto;margin-top:6px}.curve text{fill:$muted;size:10.5px}.curve .limit-text{fill:$fg}
.curve .grid{stroke:$line}.curve .limit{stroke:$fg;dash:5 4}.curve .way{fill:none;stroke:$blue;thick:1.8}
.curve .way.full{dash:2 3}.curve circle{fill:$blue}.curve .refused{stroke:$wrong;thick:2.2;fill:none}
.tree{size:12.5px}
.tree li{display:flex;flex-wrap:wrap;gap:0 6px;pad:2px 6px;round:5px;cursor:pointer;position:relative}
.tree [aria-selected=true]{ground:$soft;box-shadow:inset 3px 0 0 $blue}
.tree .what{color:$muted;flex:1 1 auto;margin-left:9px}
.offscreen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.chips{display:flex;flex-wrap:wrap;gap:6px}
.about{color:$muted;size:12px}
.aged{display:flex;flex-wrap:wrap;gap:6px 10px;align-items:center;pad:6px 14px;ground:$soft;border-bottom:2px solid $strong;weight:600}
.tps [hidden],.lead:empty{display:none}
.tps.narrow{height:auto;overflow:visible}
.narrow>.body,.narrow>.head{display:contents}
.narrow .verdict{order:1;pad:8px 12px 2px}.narrow .about{order:2;pad:0 12px 6px}.narrow .aged{order:3;pad:6px 12px}
.narrow .lead{order:4;pad:8px 12px 12px;border-top:1px solid $line}.narrow .title{size:14px}
.narrow .canvas{order:5;flex:0 0 auto;height:var(--tall,min(420px,58vh));border-top:1px solid $line}
.narrow .wide tr{display:flex;flex-wrap:wrap;gap:0 10px;border-bottom:1px solid $line}.narrow .wide :is(td,th){max-width:none;border:0;pad:2px 0;overflow-wrap:anywhere;white-space:normal}.narrow .wide td:empty{display:none}
.narrow .wide tr>:first-child{position:static;width:100%}.narrow .wide td[data-of]::before{content:attr(data-of) " ";color:$muted;font-family:${SANS}}
.narrow .graph{touch-action:pan-y}
.narrow .side{order:7;flex:0 0 auto;max-width:none;border-left:0;border-top:1px solid $line}
.narrow .tabs{pad:6px 4px 0;gap:0}.tps.narrow .tabs button{pad:4px 4px 6px;size:12px}.narrow .pane{overflow:visible;pad:12px}
.narrow .chips{order:8;pad:4px 12px}.narrow .seek{order:9;flex:none;pad:4px 12px 14px;gap:8px}
.narrow .branches :is(dt,dd){grid-column:1/-1}.narrow .branches .gets{padding-left:12px}
.narrow .diff,.narrow .message{max-height:none}.narrow .lead .card{display:flex;flex-direction:column}.narrow .lead .diff{order:1;margin-bottom:0}
.narrow .chip{size:11px;pad:1px 7px}
.narrow .search{flex:1 1 120px}.narrow .search input{width:100%}
.narrow .legend[open]{bottom:52px;max-height:calc(100% - 60px)}
.narrow .map{display:none}.narrow .tools{position:static;flex-direction:row;justify-content:flex-end;pad:6px 2px;gap:1px;border-top:1px solid $line}.tps.narrow .tools button{width:24px}.narrow .legend{left:4px;bottom:6px}.narrow .legend summary{pad:3px 4px;size:11px;display:block}
@media print{.tools,.map,.search,.menu{display:none}}
${DRAWING}`);
