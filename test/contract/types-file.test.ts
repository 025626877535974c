/** Tests the generated types of the contract. */
import { expect } from 'chai';
import { contractDocument, contractText } from '../../contract/document.ts';
import { typesOf } from '../../contract/types-file.ts';

describe('the file of generated types', function () {
  this.timeout(60_000);
  let types: string;

  before(async () => {
    types = await typesOf(contractDocument);
  });

  it('contains the successful answers of an operation, and one answer for all errors', () => {
    const [, responses] =
      /\n {4}pauseWebhookEndpoint: \{[\s\S]*?\n {8}responses: \{\n([\s\S]*?)\n {8}\};/.exec(types) ?? [];
    const statuses = responses?.match(/^ {12}\w+/gm)?.map((status) => status.trim());
    expect(statuses).to.deep.equal(['200', 'default']);
  });

  it('contains no comments, no properties of type never and no undeclared headers', () => {
    expect(types).not.to.match(/\/\*|\?: never|headers: \{\s*\[name: string\]/);
  });

  it('keeps the types of records that may have fields of any name', () => {
    expect(types).to.match(/headers: \{\s+\[key: string\]: string;/);
  });

  it('is generated without changing the contract document', () => {
    expect(contractDocument).to.deep.equal(JSON.parse(contractText));
  });
});
