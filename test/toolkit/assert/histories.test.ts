import { defaultPayloadConverter } from '@temporalio/common';
import { expect } from 'chai';
import { everyText } from './histories.ts';

/** The checks of privacy search in these texts: a text that leaves something out would let every one of them pass. */
describe('everyText', () => {
  const eventOf = (value: unknown) => ({
    activityTaskCompletedEventAttributes: { result: { payloads: [defaultPayloadConverter.toPayload(value)] } },
  });

  it('finds a word inside a payload, where the JSON of the event shows base64', () => {
    const event = eventOf({ status: 'complete', text: 'ten minutes' });
    expect(JSON.stringify(event)).not.to.contain('minutes');
    expect(everyText(event)).to.contain('ten minutes');
  });

  it('finds quotes and line ends of a string that the payload quotes', () => {
    const body = JSON.stringify({ data: { name: 'Ada' } });
    expect(everyText(eventOf(body))).to.contain('{"data":{"name":"Ada"}}');
    expect(everyText(eventOf(['one\ntwo']))).to.contain('one\ntwo');
  });

  it('finds the bytes of a payload that is no JSON', () => {
    expect(everyText(eventOf(Buffer.from('plain bytes')))).to.contain('plain bytes');
  });

  it('reads an object that holds itself', () => {
    const looped: Record<string, unknown> = { word: 'inside' };
    looped['self'] = looped;
    expect(everyText(looped)).to.contain('inside');
  });
});
