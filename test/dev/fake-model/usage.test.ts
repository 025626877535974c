import type Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import { readRequest } from '../../../dev/fake-model/request.ts';
import { PromptCache } from '../../../dev/fake-model/usage.ts';
import { asking, useModelClient } from '../../toolkit/drive/model-client.ts';

describe('dev/fake-model: usage', () => {
  const { answerTo, model } = useModelClient();

  it('counts four bytes as a token, and reports the tokens that the cache reads or writes', async () => {
    const system = (text: string): Anthropic.TextBlockParam => ({
      type: 'text',
      text,
      cache_control: { type: 'ephemeral' },
    });
    const usageOf = async (texts: string[], content = 'x'.repeat(40), more = {}) => {
      const { usage } = await answerTo({ ...asking(content), system: texts.map(system), ...more });
      return [usage.input_tokens, usage.cache_creation_input_tokens, usage.cache_read_input_tokens];
    };
    const [a, b, c] = ['a'.repeat(8_000), 'b'.repeat(400), 'c'.repeat(8_000)] as const;
    expect(await usageOf(['a'.repeat(4_000)])).to.deep.equal([1_013, 0, 0], 'too short for the cache');
    expect(await usageOf([a])).to.deep.equal([13, 2_000, 0]);
    expect(await usageOf([a])).to.deep.equal([13, 0, 2_000]);
    expect(await usageOf([a, b])).to.deep.equal([13, 100, 2_000]);
    expect(await usageOf([c])).to.deep.equal([13, 2_000, 0]);
    const [, , read] = await usageOf([c], 'x', { model: 'claude-haiku-5-5' });
    expect(read).to.equal(0, 'of another model');
    model().reset();
    expect(await usageOf([c])).to.deep.equal([13, 2_000, 0], 'forgotten');
  });

  it('renews a cached prefix at each read, and finds it up to twenty blocks back', () => {
    const cache = new PromptCache();
    const minute = 60_000;
    const prefix = { type: 'text', text: 'a'.repeat(8_000) } as const;
    const readOf = (ttl: '5m' | '1h', atMinute: number, between = 0) => {
      const marked = { ...prefix, cache_control: { type: 'ephemeral', ttl } } as const;
      const further = Array.from({ length: between }, () => ({ type: 'text', text: 'b' }) as const);
      const last = { type: 'text', text: 'c', cache_control: { type: 'ephemeral' } } as const;
      const system = between === 0 ? [marked] : [prefix, ...further, last];
      return cache.use(readRequest({ ...asking('x'), stream: true, system }), atMinute * minute).cacheRead;
    };
    expect([readOf('5m', 0), readOf('5m', 4), readOf('5m', 8), readOf('5m', 13)]).to.deep.equal([0, 2_000, 2_000, 0]);
    expect([readOf('1h', 20), readOf('1h', 79), readOf('1h', 139)]).to.deep.equal([0, 2_000, 0]);
    expect([readOf('5m', 140, 19), readOf('5m', 140, 20)]).to.deep.equal([2_000, 0]);
    expect([readOf('5m', 200), readOf('5m', 203, 18), readOf('5m', 207, 17)]).to.deep.equal([0, 2_000, 2_000]);
  });
});
