import { expect } from 'chai';
import { readAhead } from '../../../domain/agents/read-ahead.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe('reading a stream ahead of a busy reader', () => {
  it('what has come is read, also when the stream then breaks', async () => {
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

  it('no more than the bound waits', async () => {
    let made = 0;
    async function* source() {
      for (; made < 100;) yield ++made;
    }
    const ahead = readAhead(source(), 5, () => {});
    expect((await ahead.next()).value).to.equal(1);
    for (let count = 0; count < 20; count++) await turn();
    expect(made).to.be.within(5, 7);
    const read = [1];
    for await (const item of ahead) read.push(item);
    expect(read).to.deep.equal(Array.from({ length: 100 }, (_, at) => at + 1));
  });

  it('a reader that leaves ends the source; one that reads to the end does not', async () => {
    async function* source() {
      yield* [1, 2, 3];
      await new Promise(() => {});
    }
    let left = 0;
    const leave = () => void left++;
    for await (const item of readAhead(source(), 10, leave)) if (item === 2) break;
    expect(left).to.equal(1);
    async function* short() {
      yield* [1, 2];
    }
    for await (const _ of readAhead(short(), 10, leave)) await turn();
    expect(left).to.equal(1);
  });

  it('an error of nothing is an error too', async () => {
    async function* source(): AsyncGenerator<number> {
      yield* [];
      throw undefined;
    }
    let thrown = false;
    try {
      for await (const _ of readAhead(source(), 10, () => {})) expect.fail();
    } catch {
      thrown = true;
    }
    expect(thrown).to.equal(true);
  });
});
