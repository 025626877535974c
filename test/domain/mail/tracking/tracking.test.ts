import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import * as fc from 'fast-check';
import { burstMs, judgeClick, type KnownClick } from '../../../../domain/mail/tracking/clicks.policy.ts';
import { isMachine } from '../../../../domain/mail/tracking/machines.policy.ts';
import { linkToken, openingToken, readLinkToken, readOpeningToken } from '../../../../domain/mail/tracking/tokens.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { createVault } from '../../../../platform/infra/keys/vault.ts';

describe('tokens of tracked mails (CAMP-13)', () => {
  const vault = createVault(new Secret(randomBytes(32)));
  const followed = { linkId: newId(), mailId: newId() };

  it('name the link and the mail', () => {
    expect(readLinkToken(vault, linkToken(vault, followed))).to.deep.equal(followed);
    expect(readOpeningToken(vault, openingToken(vault, followed.mailId))).to.equal(followed.mailId);
  });

  it('are invalid if a bit, the use, the key or the spelling is different', () => {
    const token = linkToken(vault, followed);
    const bytes = Buffer.from(token, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const forged = Buffer.from(bytes);
      forged[bit >> 3] = (forged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(readLinkToken(vault, forged.toString('base64url'))).to.equal(undefined);
    }
    const swapped = linkToken(vault, { linkId: followed.mailId, mailId: followed.linkId });
    expect(readLinkToken(vault, swapped)).not.to.deep.equal(followed);
    for (const bad of ['', 'x', `${token}A`, `${token}=`, openingToken(vault, followed.mailId)])
      expect(readLinkToken(vault, bad)).to.equal(undefined);
    expect(readOpeningToken(vault, token)).to.equal(undefined);
    expect(readLinkToken(createVault(new Secret(randomBytes(32))), token)).to.equal(undefined);
  });
});

describe('visits of machines (CAMP-13)', () => {
  const browser =
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';
  const visit = (headers: Record<string, string>, method = 'GET') => ({
    method,
    header: (name: string) => headers[name] ?? '',
  });

  it('are recognized by their method and user agent', () => {
    expect(isMachine(visit({ 'user-agent': browser }, 'HEAD'))).to.equal(true);
    for (const agent of [
      '',
      '  ',
      'Mozilla/5.0',
      'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      'Mozilla/5.0 (compatible; BarracudaCentral)',
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0 Safari/537.36',
      'Microsoft Office Existence Discovery',
      'python-requests/2.32',
      'curl/8.5.0',
      'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    ])
      expect(isMachine(visit({ 'user-agent': agent })), agent).to.equal(true);
  });

  it('are recognized by the purpose header of the request', () => {
    expect(isMachine(visit({ 'user-agent': browser, 'sec-purpose': 'prefetch;prerender' }))).to.equal(true);
    expect(isMachine(visit({ 'user-agent': browser, 'x-moz': 'prefetch' }))).to.equal(true);
  });

  it('do not include visits of browsers, or of image proxies', () => {
    for (const agent of [
      browser,
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
      'Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:140.0) Gecko/20100101 Thunderbird/140.0',
      'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
      'Reader/1.0 Mozilla/5.0',
      'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
    ])
      expect(isMachine(visit({ 'user-agent': agent })), agent).to.equal(false);
  });
});

describe('clicks of machines (CAMP-13)', () => {
  it('include all clicks on different links of a mail within 2 seconds', () => {
    const first: KnownClick = { linkId: 'one', machine: false, at: 0, lastAt: 0 };
    const two = { linkId: 'two', machine: false };
    expect(judgeClick([first], { ...two, at: burstMs })).to.deep.equal({ machine: true, turned: [first] });
    expect(judgeClick([first], { ...two, at: burstMs + 1 })).to.deep.equal({ machine: false, turned: [] });
    expect(judgeClick([first], { linkId: 'one', machine: false, at: 1 })).to.deep.equal({ machine: false, turned: [] });
  });

  it('do not include a click that a person made long before', () => {
    const known: KnownClick = { linkId: 'one', machine: false, at: 0, lastAt: 10_000 };
    expect(judgeClick([known], { linkId: 'two', machine: false, at: 10_001 })).to.deep.equal({
      machine: true,
      turned: [],
    });
  });

  it('exclude a click if no other link was clicked within seconds', () => {
    const clicks = fc.array(
      fc.record({
        linkId: fc.constantFrom('one', 'two', 'three'),
        machine: fc.boolean(),
        wait: fc.constantFrom(1, 900, 1_999, 2_000, 2_001, 60_000),
      }),
      { maxLength: 12 },
    );
    fc.assert(
      fc.property(clicks, (visits) => {
        let now = 0;
        const all = visits.map(({ wait, ...visit }) => ({ ...visit, at: (now += wait) }));
        let known: KnownClick[] = [];
        for (const click of all) {
          const { machine, turned } = judgeClick(known, click);
          const written = [
            ...turned.map((one) => ({ ...one, machine: true })),
            { ...click, machine, lastAt: click.at },
          ];
          known = known.filter((one) => !turned.includes(one));
          for (const one of written) {
            const same = known.find((other) => other.linkId === one.linkId && other.machine === one.machine);
            if (same) same.lastAt = Math.max(same.lastAt, one.lastAt);
            else known.push(one);
          }
        }
        const byPeople = new Set(
          all
            .filter(
              ({ linkId, machine, at }) =>
                !machine && !all.some((other) => other.linkId !== linkId && Math.abs(other.at - at) <= burstMs),
            )
            .map(({ linkId }) => linkId),
        );
        expect(new Set(known.filter(({ machine }) => !machine).map(({ linkId }) => linkId))).to.deep.equal(byPeople);
      }),
      { numRuns: 2_000 },
    );
  });
});
