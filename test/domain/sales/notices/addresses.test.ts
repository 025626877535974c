/** Tests that every address in a notice is found in linear time. */
import { expect } from 'chai';
import fc from 'fast-check';
import { isEmail } from '../../../../platform/core/text/email.policy.ts';
import { addressesIn, readAddress } from '../../../../domain/sales/notices/addresses.policy.ts';
import { createNoticeReceiver } from '../../../../domain/sales/notices/notices.ts';
import { testDeps } from '../../../toolkit/stack/database.ts';

const mebibyte = 1_048_576;

/** The shortest CPU time of three runs, because CPU time excludes other processes. */
function millisecondsFor(body: unknown): number {
  const took = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    addressesIn(body);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...took);
}

describe('addresses in a notice', () => {
  for (const [what, body, found] of [
    ['in their own field, in lower case and without outer blanks', { email: ' Ada@Example.COM ' }, ['ada@example.com']],
    ['with an apostrophe', { email: "o'malley@example.com" }, ["o'malley@example.com"]],
    ['with a plus, dots and hyphens', ['a.b+c-d@mail.ex-ample.co.uk'], ['a.b+c-d@mail.ex-ample.co.uk']],
    ['in angle brackets', 'Ada <ada@example.com>, (bea@example.com);', ['ada@example.com', 'bea@example.com']],
    ['in quotation marks', `'ada@example.com' "bea@example.com"`, ['ada@example.com', 'bea@example.com']],
    ['in a web address', 'https://x.example/?mail=ada@example.com&n=1', ['ada@example.com']],
    ['at the end of a sentence', 'Write to ada@example.com.', ['ada@example.com']],
    ['in the name of a field', { 'ada@example.com': 1 }, ['ada@example.com']],
    ['in nested lists', [[{ a: [{ b: 'ada@example.com' }] }]], ['ada@example.com']],
    ['with a letter that folds to ASCII', { email: '\u212Aay@example.com' }, ['kay@example.com']],
  ] as const) {
    it(`are found ${what}`, () => expect(addressesIn(body)).to.include.members([...found]));
  }

  it('are found only if they are complete', () => {
    expect(addressesIn({ a: 'ada@', b: '@example.com', c: 'a@b', d: 3, e: null, f: 'no' })).to.deep.equal([]);
  });

  it('contain only the whole address if a field contains nothing else', () => {
    expect(addressesIn({ email: "o'malley@example.com" })).not.to.include('malley@example.com');
  });

  it('include any address that an adapter reads, in a field, a sentence and a list', () => {
    const characters = Array.from("abKz09.!#$%&'*+/=?^_`{|}~-@ \u212A\u1FEF");
    const anything = fc
      .tuple(fc.string({ unit: fc.constantFrom(...characters), maxLength: 40 }), fc.constantFrom('b.co', 'B-b.Example'))
      .map(([name, domain]) => `${name}@${domain}`);
    fc.assert(
      fc.property(fc.oneof(fc.emailAddress(), anything), (text) => {
        const address = readAddress(text);
        if (address === undefined) return;
        expect(isEmail(address)).to.equal(true);
        for (const body of [{ buyer: { email: text } }, `It was <${address}>, he said.`, [[text]]])
          expect(addressesIn(body), JSON.stringify(body)).to.include(address);
      }),
      { numRuns: 2_000 },
    );
  });

  it('are limited to 200', () => {
    const many = Array.from({ length: 300 }, (_, index) => `student-${index}@example.com`);
    expect(addressesIn(many)).to.have.length(200);
    expect(addressesIn(many.join(' '))).to.have.length(200);
  });

  for (const unit of ['a', '@', 'a@', "a'=@", 'a.b@c-', `${'='.repeat(250)}@${'b.'.repeat(120)}`]) {
    it(`are found in linear time in 1 MiB of ${unit.slice(0, 8)}`, function () {
      this.timeout(20_000);
      const text = unit.repeat(mebibyte / unit.length);
      const half = millisecondsFor(text.slice(0, text.length / 2));
      const all = millisecondsFor(text);
      expect(all).to.be.below(2_000);
      expect(all).to.be.below(3.5 * half + 50);
    });
  }

  it('are found within 2 s in 1 MiB of short texts', () => {
    const little = Array.from({ length: mebibyte / 8 }, () => 'a@b');
    expect(millisecondsFor(little)).to.be.below(2_000);
    expect(millisecondsFor(Array.from({ length: mebibyte / 2 }, () => 1))).to.be.below(2_000);
  });
});

describe('the reading of a notice', () => {
  it('refuses an unknown token before the body is read', async () => {
    const receiveBody = () => Promise.reject(new Error('The body was read'));
    const received = { platform: 'generic', token: 'nobody', receiveBody, signature: '' };
    const receiveNotice = createNoticeReceiver(await testDeps());
    const refused: unknown = await receiveNotice({ ...received, header: () => '' }, new Date()).catch(
      (error: unknown) => error,
    );
    expect(refused).to.have.property('code', 'not_found');
  });

  it('refuses an address with the Kelvin sign', () => {
    expect(readAddress('\u212Aay@example.com')).to.equal(undefined);
    expect(readAddress('ada@\u212Anots.example')).to.equal(undefined);
    expect(readAddress(' Kay@Example.com ')).to.equal('kay@example.com');
  });
});
