import { defaultPayloadConverter } from '@temporalio/common';
import { expect } from 'chai';
import { everyText } from './histories.ts';

/** The privacy checks search the text of `everyText`. If `everyText` omitted some text, all these checks would wrongly pass. */
describe('everyText', () => {
  const eventOf = (value: unknown) => ({
    activityTaskCompletedEventAttributes: { result: { payloads: [defaultPayloadConverter.toPayload(value)] } },
  });

  it('contains the words of a payload that JSON shows as base64', () => {
    const event = eventOf({ status: 'complete', text: 'ten minutes' });
    expect(JSON.stringify(event)).not.to.contain('minutes');
    expect(everyText(event)).to.contain('ten minutes');
  });

  it('contains the quotes and line ends in a string of a JSON payload', () => {
    const body = JSON.stringify({ data: { name: 'Ada' } });
    expect(everyText(eventOf(body))).to.contain('{"data":{"name":"Ada"}}');
    expect(everyText(eventOf(['one\ntwo']))).to.contain('one\ntwo');
  });

  it('contains the bytes of a payload that is not JSON', () => {
    expect(everyText(eventOf(Buffer.from('plain bytes')))).to.contain('plain bytes');
  });

  it('ends even if an object contains itself', () => {
    const looped: Record<string, unknown> = { word: 'inside' };
    looped['self'] = looped;
    expect(everyText(looped)).to.contain('inside');
  });
});
