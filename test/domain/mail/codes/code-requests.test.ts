/** Tests the ids of requests for a code that cause no mail (DEC-61). */
import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { codeRequestId, isUnmailedRequest, unmailedRequestId } from '../../../../domain/mail/codes/code-requests.ts';
import { newId } from '../../../../platform/core/ids.ts';
import { Secret } from '../../../../platform/core/secret.ts';
import { createVault } from '../../../../platform/infra/keys/vault.ts';

const now = new Date('2026-03-01T12:00:00Z');

describe('the id of a request that causes no mail', () => {
  const vault = createVault(new Secret(randomBytes(32)));
  const account = { clubId: newId(), email: 'ada@example.com' };
  const id = unmailedRequestId(vault, account, now);

  it('is recognized only for the club and the address of the request', () => {
    expect(isUnmailedRequest(vault, account, id)).to.equal(true);
    expect(isUnmailedRequest(vault, account, id.toUpperCase())).to.equal(true);
    expect(isUnmailedRequest(vault, { ...account, clubId: newId() }, id)).to.equal(false);
    expect(isUnmailedRequest(vault, { ...account, email: 'bob@example.com' }, id)).to.equal(false);
    expect(isUnmailedRequest(createVault(new Secret(randomBytes(32))), account, id)).to.equal(false);
  });

  it('differs for each request', () => {
    const ids = Array.from({ length: 1_000 }, () => unmailedRequestId(vault, account, now));
    expect(new Set(ids).size).to.equal(1_000);
  });

  it('looks like the id of a mailed code', () => {
    expect(id.slice(0, 13)).to.equal(codeRequestId(now).slice(0, 13));
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).to.equal(now.getTime());
    for (const one of [id, codeRequestId(now)])
      expect(one.slice(14)).to.match(/^7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('differs from the id of a mailed code', () => {
    for (let times = 0; times < 100; times++)
      expect(isUnmailedRequest(vault, account, codeRequestId(now))).to.equal(false);
  });
});
