/** Tests that each example of the contract matches its schema, because readers copy the examples. */
import { expect } from 'chai';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { compileValidators, contractOperations } from '../../contract/contract.ts';
import { contractDocument } from '../../contract/document.ts';
import { closedDocument } from '../../contract/published-schemas.ts';
import { isObject, type JsonObject } from '../../contract/openapi.ts';

interface Example {
  readonly pointer: string;
  readonly value: unknown;
}

/** Returns all examples: examples inside schemas, and single or named examples next to a schema. */
function examplesIn(node: unknown, pointer: string): Example[] {
  if (!isObject(node)) return [];
  const isRecordOfExamples = Array.isArray(node['examples']);
  const beside = 'example' in node && isObject(node['schema']);
  const own = isRecordOfExamples ? listOf(node['examples']).map((value) => ({ pointer, value })) : [];
  const besideSchema = beside ? [{ pointer: `${pointer}/schema`, value: node['example'] }] : [];
  const named =
    !isRecordOfExamples && isObject(node['schema']) && isObject(node['examples'])
      ? Object.values(node['examples'])
      : [];
  const ofName = named.map((example) => ({
    pointer: `${pointer}/schema`,
    value: isObject(example) ? example['value'] : undefined,
  }));
  const children = Object.entries(node).filter(([key]) => key !== 'examples' && key !== 'example');
  return [
    ...own,
    ...besideSchema,
    ...ofName,
    ...children.flatMap(([key, child]) => examplesIn(child, `${pointer}/${key.replaceAll('/', '~1')}`)),
  ];
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema(closedDocument(contractDocument), 'document');

function faultsOf({ pointer, value }: Example): string[] {
  const validate = ajv.getSchema(`document#${encodeURI(pointer)}`);
  if (!validate) return [`nothing at ${pointer}`];
  return validate(value)
    ? []
    : (validate.errors ?? []).map((error) => `${pointer}${error.instancePath} ${error.message ?? ''}`);
}

/** Returns the example of a body or response, which is next to its schema or in the referenced schema. */
function exampleOf(content: JsonObject | undefined): unknown {
  const media = content?.['application/json'];
  if (!isObject(media)) return undefined;
  if ('example' in media) return media['example'];
  const schema = isObject(media['schema']) ? media['schema'] : {};
  const name = typeof schema['$ref'] === 'string' ? schema['$ref'].split('/').at(-1) : undefined;
  return listOf(contractDocument.components.schemas[name ?? '']?.['examples'])[0];
}

describe('examples of the contract', () => {
  const examples = [
    ...examplesIn(contractDocument.components, '/components'),
    ...examplesIn(contractDocument.paths, '/paths'),
    ...examplesIn(contractDocument.webhooks, '/webhooks'),
  ];

  it('match their schemas', () => {
    expect(examples).to.have.length.above(200);
    expect(examples.flatMap(faultsOf)).to.deep.equal([]);
  });

  it('are reported if they do not match their schemas', () => {
    expect(faultsOf({ pointer: '/components/schemas/Student', value: { id: 'x' } })).to.have.length(1);
  });

  it('exist for every request body, and the operation accepts each of them', () => {
    for (const operation of contractOperations()) {
      if (!operation.hasBody || operation.fileBody) continue;
      const body = contractDocument.paths[operation.path]?.[operation.method]?.requestBody;
      const example = exampleOf(body?.content);
      expect(compileValidators(operation).body(example), operation.operationId).to.deep.equal({ value: example });
    }
  });

  it('exist for every event', () => {
    for (const [type, { post }] of Object.entries(contractDocument.webhooks)) {
      expect(exampleOf(post.requestBody?.content), type).to.have.property('type', type);
    }
  });
});
