/** Tests the deprecated parts of the SDK (VER-5). No operation is deprecated today, so the tests mark a copy of the contract. */
import path from 'node:path';
import ts from 'typescript';
import { expect } from 'chai';
import { contractText } from '../../contract/contract.ts';
import type { ContractDocument } from '../../contract/openapi.ts';
import { completeDeprecations } from '../../contract/rules/deprecation.ts';
import { sdkFiles } from '../../dev/generators/sdk/files.ts';
import { projectDirectory } from '../../dev/project.ts';

const notice = { 'x-deprecation': { since: '2027-01-31', sunset: '2027-07-31', successor: 'getClub' } };

/** The published contract, in which `listTags` and the name of a tag are deprecated. */
function markedContract(): ContractDocument {
  const document = JSON.parse(contractText) as ContractDocument;
  const tags = document.paths['/v1/clubs/{clubId}/tags']?.get;
  const properties = document.components.schemas['Tag']?.['properties'] as { name?: object } | undefined;
  if (!tags || !properties?.name) throw new Error('The contract has no list of tags.');
  Object.assign(tags, notice);
  Object.assign(properties.name, notice);
  completeDeprecations(document);
  return document;
}

/** @returns the texts of a program that an editor strikes through, because they are deprecated in these files of the SDK */
function deprecatedIn(program: string, files: ReadonlyMap<string, string>): string[] {
  const inDirectory = (name: string) => path.join(projectDirectory, name);
  const probe = inDirectory('sdk/src/probe.ts');
  const texts = new Map([...files].map(([name, text]) => [inDirectory(name), text]));
  texts.set(probe, program);
  const readFile = (name: string) => texts.get(path.normalize(name)) ?? ts.sys.readFile(name);
  const options = ts.parseJsonConfigFileContent(
    ts.readConfigFile(inDirectory('sdk/tsconfig.json'), (name) => ts.sys.readFile(name)).config,
    ts.sys,
    inDirectory('sdk'),
  ).options;
  const service = ts.createLanguageService({
    getScriptFileNames: () => [probe],
    getScriptVersion: () => '1',
    getScriptSnapshot(name) {
      const text = readFile(name);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => inDirectory('sdk'),
    getCompilationSettings: () => options,
    getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
    fileExists: (name) => texts.has(path.normalize(name)) || ts.sys.fileExists(name),
    readFile,
  });
  expect(service.getSemanticDiagnostics(probe).map(({ messageText }) => messageText)).to.deep.equal([]);
  return service
    .getSuggestionDiagnostics(probe)
    .filter(({ reportsDeprecated }) => reportsDeprecated)
    .map(({ start, length }) => program.slice(start, start + length));
}

describe('the SDK of a contract with deprecated parts', function () {
  this.timeout(120_000);
  let files: ReadonlyMap<string, string>;
  before(() => {
    files = sdkFiles(markedContract());
  });

  it('names the days and the successor at the deprecated method, and at no other', () => {
    const client = files.get('sdk/src/generated/client.ts') ?? '';
    const sentence = 'Deprecated since 2027-01-31, and may be removed from 2027-07-31 on. Use `getClub` instead.';
    expect(client.split('\n').filter((line) => line.includes('@deprecated'))).to.deep.equal([
      `    /** @deprecated ${sentence} */`,
    ]);
    expect(client).to.contain(`@deprecated ${sentence} */\n    listTags: {`);
  });

  it('lets editors strike through calls of the method and reads of the field', () => {
    const program = [
      `import { createClient } from './index.ts';`,
      `const client = createClient({ baseUrl: 'http://club.test' });`,
      `const path = { clubId: 'a' };`,
      `const { data: tags } = await client.listTags({ path });`,
      `await client.listCourses({ path });`,
      `export const names = tags.map((tag) => tag.name + tag.id);`,
    ].join('\n');
    expect(deprecatedIn(program, files)).to.deep.equal(['listTags', 'name']);
  });
});
