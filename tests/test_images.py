"""What is said of a TPU image by what is installed on it."""

from __future__ import annotations

import re
from importlib import metadata

import pytest

from jupyter_tpushape.command import doctor


@pytest.fixture
def machine(tmp_path, monkeypatch):
    monkeypatch.delenv("KAGGLE_KERNEL_RUN_TYPE", raising=False)

    def made(chips=1, kaggle=False, **packages):
        installed = {name.replace("_", "-"): version for name, version in packages.items()}

        def version(name):
            if name not in installed:
                raise metadata.PackageNotFoundError(name)
            return installed[name]

        monkeypatch.setattr(doctor.metadata, "version", version)
        (tmp_path / "dev" / "vfio").mkdir(parents=True)
        for number in range(chips):
            (tmp_path / "dev" / "vfio" / str(number)).touch()
        if kaggle:
            (tmp_path / "kaggle").mkdir()
        return "\n".join(doctor.tpu_lines(tmp_path))

    return made


def test_a_machine_without_a_tpu_has_nothing_to_say(machine):
    assert machine(0, tensorflow="2.21.0", jax="0.10.2") == ""


def test_the_compiler_s_extra_on_a_laptop_is_no_tpu(machine):
    assert machine(0, tensorflow="2.21.0", jaxlib="0.10.2", libtpu="0.0.51") == ""


def test_an_image_for_tpus_without_its_chips_says_that_there_are_none(machine):
    assert "none found" in machine(0, google_colab="1.0.0", jax="0.7.2", libtpu="0.0.21")


def test_colab_has_no_tensorflow_and_trains_on_jax(machine):
    said = machine(google_colab="1.0.0", jax="0.7.2", libtpu="0.0.21")
    assert "1 TPU chip" in said and "Colab" in said
    assert "not installed: set KERAS_BACKEND=jax" in said and "tensorflow-tpu" not in said


def test_kaggle_has_a_tensorflow_that_does_not_see_the_tpu(machine):
    said = machine(8, kaggle=True, tensorflow_cpu="2.20.0", jax="0.7.2", libtpu="0.0.21")
    assert "Kaggle" in said and re.search(r"tensorflow-cpu 2\.20\.0 .*TPU: set KERAS_BACKEND=jax", said)


def test_a_vm_without_the_wheel_is_told_which_one(machine):
    said = machine(4, tensorflow="2.21.0")
    assert re.search(r'tensorflow 2\.21\.0 .*TPU: pip install "tensorflow-tpu==2\.20\.\*" "libtpu==0\.0\.14"', said)


def test_a_vm_with_the_wheel_is_as_it_should_be_unless_another_one_lies_over_it(machine):
    assert machine(4, tensorflow_tpu="2.20.0", libtpu="0.0.17").endswith("tensorflow-tpu 2.20.0 with libtpu 0.0.17")


def test_two_wheels_over_each_other_are_told(machine):
    assert "another tensorflow" in machine(4, tensorflow_tpu="2.20.0", tensorflow="2.21.0", libtpu="0.0.17")
