/**
 * Tests that each long text of a request declares its format (`x-text`). The service uses the format to make the text safe before it stores
 * the text. Otherwise a renderer could execute an unsafe text (DEC-148).
 */
import { expect } from 'chai';
import { contractDocument } from '../../contract/document.ts';
import { isObject, isReference } from '../../contract/openapi.ts';
import { contractOperations } from '../../contract/operations.ts';
import { compileValidators } from '../../contract/validators.ts';

/** The maximum length of texts that need no `x-text`, because they are names, codes or values of lists. */
const longest = 255;
/** Texts that other code makes safe: e-mails of campaigns and automations (by their renderer), mails of clubs, and files. */
const otherwiseRead =
  /^(?:CampaignEmail|AutomationEmail|EmailBlock|MailSenderSettings|importStudents|importSuppressions|receiveMailReport|receiveSesNotice)/;
/** Texts that are ids, addresses or settings, which have their own checks. */
const noProse =
  /\/(?:url|external_id|step_id|id|note|secret|message_id|provider_id|domain)$|^(?:ProviderSignInStart|ProviderCode|ClubProviderSettings)\/|^MeetingUrlInput$/;

/** @returns the paths of the long texts that have no `x-text`, in the bodies of requests */
function unmarkedTexts(): string[] {
  const unmarked = new Set<string>();
  const visitedTexts = new Set<string>();
  const walk = (part: unknown, path: string): void => {
    if (!isObject(part)) return;
    if (isReference(part)) {
      const name = part.$ref.replace('#/components/schemas/', '');
      if (visitedTexts.has(name)) return;
      visitedTexts.add(name);
      walk(contractDocument.components.schemas[name], name);
      return;
    }
    const isText = part['type'] === 'string' && !part['enum'] && !part['format'] && part['const'] === undefined;
    const isLong = part['maxLength'] === undefined || Number(part['maxLength']) > longest;
    const isFree = isText && (part['pattern'] === undefined || part['pattern'] === '\\S');
    if (isFree && isLong && part['x-text'] === undefined) unmarked.add(path);
    for (const [step, inner] of Object.entries(part)) walk(inner, `${path}/${step}`);
  };
  for (const item of Object.values(contractDocument.paths))
    for (const operation of Object.values(item))
      if (isObject(operation) && 'requestBody' in operation)
        walk(operation['requestBody'], String(operation['operationId']));
  return [...unmarked].filter((path) => !otherwiseRead.test(path) && !noProse.test(path));
}

const bodyOf = (operationId: string, body: unknown) => {
  const operation = contractOperations().find((one) => one.operationId === operationId);
  if (!operation) throw new Error(`No operation ${operationId}`);
  return compileValidators(operation).body(body);
};

describe('texts of requests', () => {
  it('declare their format by `x-text`', () => expect(unmarkedTexts()).to.deep.equal([]));

  it('are safe after the check, even if their schema is referenced', () => {
    expect(bodyOf('publishLessonComment', { body: 'a <b> c' })).to.deep.equal({ value: { body: 'a < b> c' } });
    expect(bodyOf('createAssignment', { prompt: 'a <b> c', takes_text: true })).to.deep.equal({
      value: { prompt: 'a &lt;b> c', takes_text: true },
    });
    expect(bodyOf('createLesson', { title: 'x', content: '![x](https://a.example/b.png)<b>' })).to.deep.equal({
      value: { title: 'x', content: '![x](https://a.example/b.png)&lt;b>' },
    });
  });

  it('must contain a visible character if the contract forbids blank texts', () => {
    for (const blank of [
      '\u200b',
      '\u3164',
      '\u00ad',
      '\u202e\u2066',
      '\u2800',
      '\u115f\u1160',
      '\ufeff',
      '\u034f',
      '\u0301',
      ' \n',
    ])
      expect(bodyOf('createTag', { name: blank }), JSON.stringify(blank)).to.deep.equal({
        problem: { kind: 'invalid', message: 'name must not be blank' },
      });
    for (const name of ['a', '文', '🎓', '1', '-', '\u0915\u094d'])
      expect(bodyOf('createTag', { name })).to.deep.equal({ value: { name } });
  });
});
