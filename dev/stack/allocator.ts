/** The C library's memory settings for API and worker. docs/how-to/deploy.md says how operators set them. */

/**
 * In bytes: freed blocks above this size go back to the system immediately. Otherwise glibc raises these thresholds when a program frees
 * large blocks, and keeps the memory between smaller blocks. The memory of an API that hashed passwords and moved files then grew by 15 MiB
 * an hour.
 */
export const allocatorSettings: Readonly<Record<string, string>> = {
  MALLOC_MMAP_THRESHOLD_: '131072',
  MALLOC_TRIM_THRESHOLD_: '131072',
};
