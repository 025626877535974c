/** Paths of the file listener. */

/** @returns the segment below the folder; undefined for any other path */
export function partUnder(folder: string, path: string): string | undefined {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const part = path.slice(folder.length + 1);
  return part === '' || part.includes('/') ? undefined : part;
}
