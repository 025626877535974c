/** Checks the header `Upload-Metadata` of a tus client. The server does not use the metadata, but refuses what it cannot read (MED-32). */

const key = /^[\x21-\x2b\x2d-\x7e]+$/;
const base64 = /^[\d+/A-Za-z]*={0,2}$/;

/** @returns the problem, for the sender; undefined if the header is correct */
export function metadataFault(header: string): string | undefined {
  const keys = new Set<string>();
  for (const pair of header.split(',')) {
    const [name = '', value = '', ...more] = pair.split(' ');
    if (!key.test(name)) return 'A key of Upload-Metadata is empty, or contains a character outside ASCII.';
    if (more.length > 0)
      return 'A pair of Upload-Metadata is a key, a space and a value; pairs have a comma between them.';
    if (keys.has(name)) return 'Upload-Metadata names a key twice.';
    if (value.length % 4 !== 0 || !base64.test(value)) return 'A value of Upload-Metadata is not Base64.';
    keys.add(name);
  }
  return undefined;
}
