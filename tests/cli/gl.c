/* SPDX-License-Identifier: MIT */

/* gpuval-gl: an OpenGL ES program of the system's libEGL, with a dispatch that stores to
 * more elements than there are. Prints the renderer's name. Exits with 77 and the reason
 * where there is no such OpenGL.
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>

static PFNEGLGETPROCADDRESSPROC get_proc;

static void
skip(const char *reason)
{
   puts(reason);
   exit(77);
}

#define EGL_PROC(type, name) type name = (type)get_proc(#name)
#define GL_PROC(type, name)                                                                        \
   type name = (type)get_proc(#name);                                                              \
   if (!name)                                                                                      \
   skip("there is no " #name)

static void
make_current(void)
{
   EGL_PROC(PFNEGLGETPLATFORMDISPLAYPROC, eglGetPlatformDisplay);
   EGL_PROC(PFNEGLINITIALIZEPROC, eglInitialize);
   EGL_PROC(PFNEGLBINDAPIPROC, eglBindAPI);
   EGL_PROC(PFNEGLCREATECONTEXTPROC, eglCreateContext);
   EGL_PROC(PFNEGLMAKECURRENTPROC, eglMakeCurrent);
   const EGLint attributes[] = {
      EGL_CONTEXT_MAJOR_VERSION, 3, EGL_CONTEXT_MINOR_VERSION, 1, EGL_NONE,
   };

   if (!eglGetPlatformDisplay)
      skip("libEGL is too old");
   EGLDisplay display =
      eglGetPlatformDisplay(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
   if (!eglInitialize(display, NULL, NULL))
      skip("eglInitialize() fails: the system's Mesa has no zink, or none that works");
   eglBindAPI(EGL_OPENGL_ES_API);
   EGLContext context = eglCreateContext(display, EGL_NO_CONFIG_KHR, EGL_NO_CONTEXT, attributes);
   if (!context || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
      skip("there is no OpenGL ES 3.1");
}

int
main(void)
{
   void *egl = dlopen("libEGL.so.1", RTLD_NOW);
   if (!egl)
      skip("there is no libEGL.so.1 (Debian: libegl1)");
   get_proc = (PFNEGLGETPROCADDRESSPROC)dlsym(egl, "eglGetProcAddress");
   make_current();

   GL_PROC(PFNGLGETSTRINGPROC, glGetString);
   GL_PROC(PFNGLCREATESHADERPROGRAMVPROC, glCreateShaderProgramv);
   GL_PROC(PFNGLUSEPROGRAMPROC, glUseProgram);
   GL_PROC(PFNGLGENBUFFERSPROC, glGenBuffers);
   GL_PROC(PFNGLBINDBUFFERPROC, glBindBuffer);
   GL_PROC(PFNGLBUFFERDATAPROC, glBufferData);
   GL_PROC(PFNGLBINDBUFFERRANGEPROC, glBindBufferRange);
   GL_PROC(PFNGLDISPATCHCOMPUTEPROC, glDispatchCompute);
   GL_PROC(PFNGLFINISHPROC, glFinish);
   GL_PROC(PFNGLGETERRORPROC, glGetError);

   const char *source = "#version 310 es\n"
                        "layout(local_size_x = 4) in;\n"
                        "layout(std430, binding = 0) buffer B { uint x[]; };\n"
                        "void main() { x[gl_GlobalInvocationID.x] = 1u; }\n";
   GLuint program = glCreateShaderProgramv(GL_COMPUTE_SHADER, 1, &source);
   GLuint buffer;

   puts((const char *)glGetString(GL_RENDERER));
   glGenBuffers(1, &buffer);
   glBindBuffer(GL_SHADER_STORAGE_BUFFER, buffer);
   glBufferData(GL_SHADER_STORAGE_BUFFER, 4096, NULL, GL_DYNAMIC_COPY);
   glBindBufferRange(GL_SHADER_STORAGE_BUFFER, 0, buffer, 0, 8);
   glUseProgram(program);
   glDispatchCompute(1, 1, 1);
   glFinish();
   return glGetError() != GL_NO_ERROR;
}
