/** Tests the form of the contract from which the SDK is generated, and the changes to the output of the generator (SDK-1). */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { contractText } from '../../contract/contract.ts';
import type { ContractDocument, JsonObject } from '../../contract/openapi.ts';
import { sdkDocument } from '../../dev/generators/sdk/document.ts';
import { projectDirectory } from '../../dev/project.ts';
import * as sdk from '../../sdk/src/index.ts';

const published = (): ContractDocument => JSON.parse(contractText) as ContractDocument;
const withSchemas = (schemas: Record<string, JsonObject>): ContractDocument => {
  const document = published();
  Object.assign(document.components.schemas, schemas);
  return document;
};
const growing = (...values: string[]): JsonObject => ({ type: 'string', 'x-extensible-enum': values });

describe('the generated part of the SDK', () => {
  it('has a type with constants for every enumeration that may grow', () => {
    const { document, open } = sdkDocument(
      withSchemas({ Knot: { type: 'object', properties: { how_tight: growing('slack', 'tight') } } }),
    );
    expect(open.at(-1)).to.deep.equal({ name: 'KnotHowTight', values: ['slack', 'tight'] });
    expect(document.components.schemas['Knot']).to.deep.equal({
      type: 'object',
      properties: { how_tight: { $ref: '#/components/schemas/KnotHowTight' } },
    });
  });

  it('exports the constants of all these enumerations', () => {
    const exported: Record<string, unknown> = { ...sdk };
    for (const { name, values } of sdkDocument(published()).open)
      expect(Object.values(exported[name] as object), name).to.deep.equal(values);
  });

  it('is not generated if the name of a schema cannot be the name of a type', () => {
    expect(() => sdkDocument(withSchemas({ 'Points-2': { type: 'integer' } }))).to.throw(
      'The schema Points-2 is no name of a type',
    );
  });

  it('is not generated if two different enumerations need one name', () => {
    const document = withSchemas({
      KnotKind: growing('bend'),
      Knot: { type: 'object', properties: { kind: growing('hitch') } },
    });
    expect(() => sdkDocument(document)).to.throw('The enumeration kind of Knot needs a name of its own');
  });

  it('has a method for every operation of the contract', () => {
    const ids = Object.values(published().paths).flatMap((item) =>
      Object.values(item).flatMap((operation) => ('operationId' in operation ? [operation.operationId] : [])),
    );
    expect(Object.keys(sdk.operations)).to.have.members(ids);
    const client: Record<string, unknown> = { ...sdk.createClient({ baseUrl: '' }) };
    for (const id of ids) expect(client[id], id).to.be.a('function');
  });

  it('imports nothing of Node, so that browsers can load it', () => {
    const directory = path.join(projectDirectory, 'sdk', 'src');
    for (const file of globSync('**/*.ts', { cwd: directory })) {
      // The commands run in Node. Nothing else may import them.
      if (file.startsWith('commands')) continue;
      const text = readFileSync(path.join(directory, file), 'utf8');
      const imports = [...text.matchAll(/\bfrom '([^']+)'/g)].map(([, name = '']) => name);
      expect(
        imports.filter((name) => name.includes('commands') || (!name.startsWith('.') && name !== 'standardwebhooks')),
        file,
      ).to.deep.equal([]);
    }
  });
});
