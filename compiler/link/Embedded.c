/*===- Embedded.c - files that every artifact needs ------------------------===*/

/* Each file becomes the bytes from lumen_embedded_<name> up to
 * lumen_embedded_<name>_end. The paths come from the build system. */
#define EMBED(name, path)                                                                          \
  __asm__(".section .rodata.lumen_embedded, \"a\", @progbits\n"                                    \
          ".balign 16\n"                                                                           \
          ".hidden lumen_embedded_" #name "\n"                                                     \
          ".globl lumen_embedded_" #name "\n"                                                      \
          "lumen_embedded_" #name ":\n"                                                            \
          ".incbin \"" path "\"\n"                                                                 \
          ".hidden lumen_embedded_" #name "_end\n"                                                 \
          ".globl lumen_embedded_" #name "_end\n"                                                  \
          "lumen_embedded_" #name "_end:\n"                                                        \
          ".byte 0\n"                                                                              \
          ".previous\n");

EMBED(runtime, LUMEN_RUNTIME_ARCHIVE)
EMBED(calls, LUMEN_CALLS_ARCHIVE)
EMBED(drivers, LUMEN_DRIVERS_ARCHIVE)
EMBED(builtins, LUMEN_BUILTINS_ARCHIVE)
EMBED(libc, LUMEN_LIBC_INTERFACE)
EMBED(libm, LUMEN_LIBM_INTERFACE)
EMBED(header, LUMEN_USER_HEADER)
