# lit suites: IR, passes and code generation by FileCheck. Run with -D build=<build tree>, as ./dev test lit does.
import os

import lit.formats

config.name = "sinter"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["lint", "Inputs", "aot"]  # aot/*.mlir are packages for tests/aot

build = lit_config.params.get("build")
if not build:
    lit_config.fatal("give the build tree to test: lit -D build=build/release tests")
llvm = lit_config.params.get("llvm", "/usr/lib/llvm-22")

config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), os.path.join(llvm, "bin"), config.environment["PATH"]])
config.substitutions.append(("%mlir_include", os.path.join(llvm, "include")))
# A failing FileCheck shows the input around the mismatch, not all of it.
config.environment["FILECHECK_OPTS"] = "--dump-input-filter=error --dump-input-context=8"
