/** The settings of the C library's memory allocator for the API and the worker. docs/how-to/deploy.md explains how operators set them. */

/**
 * Fixes the thresholds (in bytes) above which glibc returns freed blocks to the system immediately. Without fixed thresholds, glibc raises
 * them when a program frees large blocks. After that, free memory between smaller blocks is not returned. Without these settings, the
 * memory of an API that hashed passwords and moved files grew by 15 MiB an hour.
 */
export const allocatorSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
