/** Downloads the archive and the files of an export with interruptions, reads the ZIP with Python, and checks each line. */
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { AnySchemaObject } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { Problem } from '../../../../dev/problem.ts';
import type { CopiedRecord, Owner } from './api.ts';
import { hashOf, type ExportedClub, type Line } from './importer.ts';

export interface Downloaded extends ExportedClub {
  interruptions: number;
  records: number;
}

/** Bytes after which a download is cut. */
const cutAfter = 64 * 1_024;

/** @param api the address of the API, whose contract judges each line */
export async function download(owner: Owner, exportId: string, directory: string, api: string): Promise<Downloaded> {
  let interruptions = 0;
  const addressOf = async () => (await owner.ask('GET', `/exports/${exportId}`)).data.archive.url as string;
  const archive = await inPieces(addressOf, () => interruptions++);
  const file = path.join(directory, 'archive.zip');
  await writeFile(file, archive);
  const script = `import sys, zipfile\nz = zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nz.extractall(sys.argv[2])`;
  await promisify(execFile)('python3', ['-c', script, file, directory]);
  const manifest = JSON.parse(await readFile(path.join(directory, 'manifest.json'), 'utf8'));
  const judge = await judgeOf(api);
  const lines: Record<string, Line[]> = {};
  let records = 0;
  for (const { name, schema, records: count, sha256 } of manifest.files) {
    const content = await readFile(path.join(directory, name));
    if (hashOf(content) !== sha256) throw new Problem(`${name} differs from the SHA-256 of the manifest`);
    const read = content
      .toString()
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Line);
    if (read.length !== count) throw new Problem(`${name} has ${read.length} lines, and the manifest says ${count}`);
    for (const { record } of read) judge(schema, record);
    lines[schema] = read;
    records += count;
  }
  const files = new Map<string, Buffer>();
  for (const { record } of lines['ClubExportFile'] ?? []) {
    const listed = async () => {
      const { data } = await owner.ask('GET', `/exports/${exportId}/files?page_size=100`);
      return data.find(({ media_id: id }: CopiedRecord) => id === record.media_id).url as string;
    };
    const bytes = await inPieces(listed, () => interruptions++);
    if (record.sha256 !== undefined && hashOf(bytes) !== record.sha256)
      throw new Problem(`${record.name} differs from its SHA-256`);
    files.set(record.media_id, bytes);
  }
  return { lines, files, interruptions, records };
}

/** Cuts the connection again and again, and continues at another address. */
async function inPieces(addressOf: () => Promise<string>, onCut: () => void): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let [received, etag] = [0, ''];
  for (;;) {
    const cut = new AbortController();
    const headers = { range: `bytes=${received}-`, ...(etag && { 'if-range': etag }) };
    const answer = await fetch(await addressOf(), { headers, signal: cut.signal });
    if (answer.status !== 206) throw new Problem(`A download from byte ${received} answers ${answer.status}`);
    etag = answer.headers.get('etag') ?? '';
    const size = Number(answer.headers.get('content-range')?.split('/')[1]);
    let ofThis = 0;
    for await (const chunk of answer.body ?? []) {
      const piece = Buffer.from(chunk).subarray(0, cutAfter - ofThis);
      pieces.push(piece);
      received += piece.length;
      ofThis += piece.length;
      if (ofThis >= cutAfter) break;
    }
    cut.abort();
    if (received >= size) return Buffer.concat(pieces);
    onCut();
  }
}

/** @returns a function that throws a Problem if a record breaks its schema in the contract that the service publishes */
async function judgeOf(api: string): Promise<(schema: string, record: CopiedRecord) => void> {
  const contract = (await (await fetch(`${api}/v1/openapi.json`)).json()) as AnySchemaObject;
  withoutSigned(contract);
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(contract, 'contract');
  return (schema, record) => {
    const validate = ajv.getSchema(`contract#/components/schemas/${schema}`);
    if (!validate) throw new Problem(`The contract has no schema ${schema}`);
    if (!validate(record))
      throw new Problem(`A line of ${schema} breaks the contract: ${JSON.stringify(validate.errors)}`);
  };
}

/** Signed addresses are absent in an export, so no schema may require them. */
function withoutSigned(schema: CopiedRecord): void {
  if (typeof schema !== 'object' || schema === null) return;
  if (Array.isArray(schema.required) && typeof schema.properties === 'object')
    schema.required = schema.required.filter((name: string) => schema.properties[name]?.['x-signed-address'] !== true);
  for (const part of Object.values(schema)) withoutSigned(part);
}
