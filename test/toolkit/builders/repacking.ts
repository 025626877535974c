/** Unpacks office files, changes them and packs them again. */
import { inflateRawSync } from 'node:zlib';
import { zipOf } from './archives.ts';

export function unzipped(bytes: Uint8Array): Map<string, string> {
  const archive = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const entries = new Map<string, string>();
  const end = archive.lastIndexOf('PK\x05\x06', undefined, 'latin1');
  let at = archive.readUInt32LE(end + 16);
  for (let remainingEntries = archive.readUInt16LE(end + 10); remainingEntries > 0; remainingEntries--) {
    const [method, packedLength] = [archive.readUInt16LE(at + 10), archive.readUInt32LE(at + 20)];
    const [nameLength, extra, comment] = [28, 30, 32].map((place) => archive.readUInt16LE(at + place));
    const local = archive.readUInt32LE(at + 42);
    const name = archive.toString('utf8', at + 46, at + 46 + (nameLength ?? 0));
    const start = local + 30 + archive.readUInt16LE(local + 26) + archive.readUInt16LE(local + 28);
    const packed = archive.subarray(start, start + packedLength);
    entries.set(name, (method === 0 ? packed : inflateRawSync(packed)).toString('utf8'));
    at += 46 + (nameLength ?? 0) + (extra ?? 0) + (comment ?? 0);
  }
  return entries;
}

export function zipped(entries: ReadonlyMap<string, string>): Uint8Array<ArrayBuffer> {
  return zipOf([...entries].filter(([name]) => !name.endsWith('/')).map(([name, content]) => ({ name, content })));
}
