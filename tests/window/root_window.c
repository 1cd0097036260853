/* SPDX-License-Identifier: MIT */

/*
 * Looks at the screen of an X server until it has many colors.
 *
 *    gpuval-root-window COLORS SECONDS
 *
 * The first line says how many colors there are at the start, the last line how
 * many there were at most. Ends as soon as there are COLORS, or after SECONDS, and
 * then asks the programs to close their windows. Exits with 0 when there were
 * COLORS, with 1 when not, with 99 when there is no screen.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>

static int
compare_pixels(const void *a, const void *b)
{
   const unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;
   return (x > y) - (x < y);
}

static unsigned
count_distinct(unsigned long *pixels, unsigned count)
{
   unsigned distinct = count > 0;

   qsort(pixels, count, sizeof(*pixels), compare_pixels);
   for (unsigned i = 1; i < count; i++)
      distinct += pixels[i] != pixels[i - 1];
   return distinct;
}

/* With the windows on it: the root window's image has all that is inside. */
static unsigned
count_colors(Display *display)
{
   const int screen = DefaultScreen(display);
   const unsigned width = DisplayWidth(display, screen), height = DisplayHeight(display, screen);

   XImage *image =
      XGetImage(display, RootWindow(display, screen), 0, 0, width, height, AllPlanes, ZPixmap);
   unsigned long *pixels = malloc(sizeof(*pixels) * width * height);
   if (!image || !pixels)
      exit(99);
   for (unsigned i = 0; i < width * height; i++)
      pixels[i] = XGetPixel(image, i % width, i / width);

   const unsigned colors = count_distinct(pixels, width * height);
   free(pixels);
   XDestroyImage(image);
   return colors;
}

/* The message by which a window manager asks a program to close its window (ICCCM
 * 4.2.8.1). There is no window manager on this screen, so that the programs' windows
 * are the root window's children.
 */
static void
close_windows(Display *display)
{
   const Atom protocols = XInternAtom(display, "WM_PROTOCOLS", False);
   const Atom delete = XInternAtom(display, "WM_DELETE_WINDOW", False);
   Window root, parent, *windows = NULL;
   unsigned count = 0;

   XQueryTree(display, DefaultRootWindow(display), &root, &parent, &windows, &count);
   for (unsigned i = 0; i < count; i++) {
      XEvent event = {
         .xclient =
            {
               .type = ClientMessage,
               .window = windows[i],
               .message_type = protocols,
               .format = 32,
               .data.l = {delete, CurrentTime},
            },
      };
      XSendEvent(display, windows[i], False, NoEventMask, &event);
   }
   if (windows)
      XFree(windows);
}

int
main(int argc, char **argv)
{
   if (argc != 3)
      return 99;
   const unsigned wanted = atoi(argv[1]);
   const time_t end = time(NULL) + atoi(argv[2]);

   Display *display = XOpenDisplay(NULL);
   if (!display) {
      fprintf(stderr, "no X display\n");
      return 99;
   }
   unsigned most = count_colors(display);
   printf("%u at the start\n", most);
   fflush(stdout);

   while (most < wanted && time(NULL) < end) {
      nanosleep(&(struct timespec){.tv_nsec = 20 * 1000 * 1000}, NULL);
      const unsigned colors = count_colors(display);
      most = colors > most ? colors : most;
   }
   printf("%u at most\n", most);
   close_windows(display);
   XCloseDisplay(display);
   return most >= wanted ? 0 : 1;
}
