/** Reads ZIP archives, the format that contains the parts of DOCX and PPTX files. The size of each unpacked part is limited. */
import yauzl, { type Entry, type ZipFile } from 'yauzl';
import { decodeXml } from '../../../platform/core/text/xml.ts';
import { indexingRules } from '../indexing/indexing.policy.ts';
import { BrokenPart, readingTheFile, Unreadable } from './unreadable.ts';

export interface Archive {
  /** @param name in upper or lower case, because names in office files ignore case */
  has(name: string): boolean;
  /** @throws Unreadable too_large, file_corrupt; BrokenPart */
  text(name: string): Promise<string | undefined>;
}

/** @throws Unreadable too_large (the archive has too many entries), file_corrupt, file_encrypted */
export async function openArchive(bytes: Uint8Array): Promise<Archive> {
  // Unpacking stops if an entry is larger than its declared size.
  const options = { lazyEntries: true, validateEntrySizes: true, autoClose: false };
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const { file, entries } = await readingTheFile(async () => {
    const zipFile = await yauzl.fromBufferPromise(buffer, options);
    return { file: zipFile, entries: await entriesOf(zipFile) };
  });
  let unpacked = 0;
  return {
    has: (name) => entries.has(name.toLowerCase()),
    async text(name) {
      const entry = entries.get(name.toLowerCase());
      if (!entry) return undefined;
      const parts: Buffer[] = [];
      await readingTheFile(async () => {
        try {
          for await (const part of await file.openReadStreamPromise(entry)) {
            unpacked += (part as Buffer).length;
            if (unpacked > indexingRules.maxUnpackedBytes) throw new Unreadable('too_large');
            parts.push(part as Buffer);
          }
        } catch (error) {
          throw isOfPacking(error) ? new BrokenPart() : error;
        }
      });
      return decodeXml(Buffer.concat(parts));
    },
  };
}

/** Whether the bytes of one entry could not be unpacked. A wrong declared size is not such an error: it is a fault of the whole archive. */
function isOfPacking(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

function entriesOf(file: ZipFile): Promise<Map<string, Entry>> {
  if (file.entryCount > indexingRules.maxEntries) throw new Unreadable('too_large');
  const entries = new Map<string, Entry>();
  return new Promise((resolve, reject) => {
    file.on('entry', (entry: Entry) => {
      if (entry.isEncrypted()) return reject(new Unreadable('file_encrypted'));
      entries.set(entry.fileName.toLowerCase(), entry);
      file.readEntry();
    });
    file.on('end', () => resolve(entries));
    file.on('error', reject);
    file.readEntry();
  });
}
