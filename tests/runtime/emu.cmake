# The emulated device, with kernels written by hand; those that the compiler emulates are in tests/codegen.
sinter_test(emu_device_test emu_device_test.cpp LINK sinter_emu)
sinter_test(emu_conformance_test emu_conformance_test.cpp LINK sinter_emu)
