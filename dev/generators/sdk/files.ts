/** The generated part of the SDK (`sdk/src/generated/`): operations, schemas and transport by Redocly, and the events by name (SDK-1). */
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { redocly } from '../../../contract/generate.ts';
import { methods, type ContractDocument, type JsonObject } from '../../../contract/openapi.ts';
import { sentenceOf } from '../../../contract/rules/deprecation.ts';
import { sdkDocument, type OpenValues } from './document.ts';

/** The folder of the generated part, from the project's directory. */
const generatedDirectory = 'sdk/src/generated';
const schemasFile = 'client.schemas.ts';
const clientFile = 'client.ts';

/**
 * @param contract the published document
 * @returns the text of each file by its path from the project's directory
 * @throws Error if the output of the generator has changed so that a change of ours finds nothing to change
 */
export function sdkFiles(contract: ContractDocument): ReadonlyMap<string, string> {
  const { document, open } = sdkDocument(contract);
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'sdk-'));
  try {
    const source = path.join(scratch, 'openapi.json');
    const output = path.join(scratch, 'client');
    writeFileSync(source, JSON.stringify(document));
    const settings = { 'output-mode': 'split', runtime: 'module', 'import-ext': 'ts', 'args-style': 'grouped' };
    const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
    redocly('generate-client', source, '--output', path.join(output, clientFile), ...options);
    const files = globSync('**/*.ts', { cwd: output }).map((name): [string, string] => {
      const text = readFileSync(path.join(output, name), 'utf8');
      return [
        name,
        name === clientFile ? withDeprecations(changed(name, text, open), document) : changed(name, text, open),
      ];
    });
    return new Map(
      [...files, ['events.ts', eventsFile(document)] as const].map(([name, text]) => [
        path.posix.join(generatedDirectory, name.replaceAll(path.sep, '/')),
        text,
      ]),
    );
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** The same types for programs with and without the types of a browser. */
const ofBothPlatforms: readonly (readonly [string, string])[] = [
  ['HeadersInit', "RequestInit['headers']"],
  ['BodyInit', "NonNullable<RequestInit['body']>"],
  ['  return headers;\n', '  return headers as Record<string, string>;\n'],
  ["typeof document === 'undefined'", "!('document' in globalThis)"],
];

function changed(name: string, text: string, open: readonly OpenValues[]): string {
  if (name === schemasFile) return open.reduce(withValues, text);
  if (path.basename(name) === 'send.ts')
    return ofBothPlatforms.reduce((result, [from, to]) => replacedIn(name, result, from, to), text);
  if (name !== clientFile) return text;
  // A client with a fixed address, made when the module loads, would be of no use.
  const end = text.indexOf('\nexport const client = createClient');
  if (end === -1) throw new Error(`${name} of the generator ends without a client.`);
  const imports = "import { createClient } from './runtime/factory.ts';\n";
  return replacedIn(name, text.slice(0, end), imports, '');
}

/** Marks the methods of deprecated operations, so that editors and linters show each call (VER-5). The generator marks only schemas. */
function withDeprecations(text: string, { paths }: ContractDocument): string {
  const operations = Object.values(paths).flatMap((item) => methods.flatMap((method) => item[method] ?? []));
  return operations.reduce((result, { operationId, 'x-deprecation': notice }) => {
    if (!notice) return result;
    const line = `\n    ${operationId}: {\n`;
    return replacedIn(clientFile, result, line, `\n    /** @deprecated ${sentenceOf(notice)} */${line}`);
  }, text);
}

function replacedIn(name: string, text: string, from: string, to: string): string {
  if (!text.includes(from)) throw new Error(`${name} of the generator has no ${from.trim()}.`);
  return text.replaceAll(from, to);
}

/** Gives an enumeration that may grow the form of the closed ones, with room for unknown values. */
function withValues(text: string, { name, values }: OpenValues): string {
  const rows = values.map((value) => `    ${/^[a-z]\w*$/i.test(value) ? value : `"${value}"`}: "${value}"`);
  return replacedIn(
    schemasFile,
    text,
    `\nexport type ${name} = string;\n`,
    `\nexport type ${name} = (typeof ${name})[keyof typeof ${name}] | (string & {});\n\nexport const ${name} = {\n${rows.join(',\n')}\n} as const;\n`,
  );
}

/** The body of each webhook by its type. @throws Error if a webhook has no schema with a name */
function eventsFile({ webhooks }: ContractDocument): string {
  const events = Object.entries(webhooks).map(([type, { post }]) => {
    const json = post.requestBody?.content['application/json'] as { schema?: JsonObject } | undefined;
    const target = json?.schema?.['$ref'];
    const schema = typeof target === 'string' ? target.split('/').pop() : undefined;
    if (!schema) throw new Error(`The event ${type} has no schema with a name.`);
    return { type, schema };
  });
  const rows = events.map(({ type, schema }) => `  '${type}': ${schema};`);
  return [
    '/** Generated by `npm run generate` from contract/openapi.yaml; never edited. */',
    `import type {\n${events.map(({ schema }) => `  ${schema},`).join('\n')}\n} from './${schemasFile}';`,
    '',
    '/** The body of each webhook by its type. */',
    `export interface WebhookEvents {\n${rows.join('\n')}\n}\n`,
  ].join('\n');
}
