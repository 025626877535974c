import { expect } from 'chai';
import { readAhead } from '../../../../platform/infra/model/read-ahead.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('readAhead', () => {
  it('delivers all items before it throws the error of the stream', async () => {
    async function* source() {
      yield* [1, 2, 3];
      throw new Error('cut');
    }
    const ahead = readAhead(source(), 10, () => {});
    const read: unknown[] = [];
    try {
      for await (const item of ahead) {
        read.push(item);
        await turn();
      }
    } catch (error) {
      read.push((error as Error).message);
    }
    expect(read).to.deep.equal([1, 2, 3, 'cut']);
  });

  it('reads at most the given number of items ahead of the reader', async () => {
    let producedItems = 0;
    async function* source() {
      for (; producedItems < 100;) yield ++producedItems;
    }
    const ahead = readAhead(source(), 5, () => {});
    expect((await ahead.next()).value).to.equal(1);
    for (let count = 0; count < 20; count++) await turn();
    expect(producedItems).to.be.within(5, 7);
    const read = [1];
    for await (const item of ahead) read.push(item);
    expect(read).to.deep.equal(Array.from({ length: 100 }, (_, at) => at + 1));
  });

  it('calls `leave` only if the reader stops early', async () => {
    async function* source() {
      yield* [1, 2, 3];
      await new Promise(() => {});
    }
    let leaves = 0;
    const leave = () => void leaves++;
    for await (const item of readAhead(source(), 10, leave)) if (item === 2) break;
    expect(leaves).to.equal(1);
    async function* short() {
      yield* [1, 2];
    }
    for await (const _ of readAhead(short(), 10, leave)) await turn();
    expect(leaves).to.equal(1);
  });

  it('throws the value undefined if the source throws undefined', async () => {
    async function* source(): AsyncGenerator<number> {
      yield* [];
      throw undefined;
    }
    const read: number[] = [];
    const outcome = await (async () => {
      for await (const item of readAhead(source(), 10, () => {})) read.push(item);
      return 'ended';
    })().catch((error: unknown) => ['thrown', error]);
    expect([read, outcome]).to.deep.equal([[], ['thrown', undefined]]);
  });
});
