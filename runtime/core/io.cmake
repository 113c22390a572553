# File formats: nothing here knows a device or a program.
sinter_library(sinter_io file.cpp hash.cpp json.cpp npy.cpp safetensors.cpp LINK sinter_base)
