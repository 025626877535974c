/** Device tokens (LIM-26). */
import { expect } from 'chai';
import { deviceToken, readDevice } from '../../../domain/identity/sessions/devices.ts';
import { Secret } from '../../../platform/core/secret.ts';
import { createVault } from '../../../platform/infra/keys/vault.ts';

describe('the token of a device', () => {
  const vault = createVault(new Secret(Buffer.alloc(32, 7)));
  const now = new Date('2026-03-02T09:15:00Z');
  const days = (count: number) => new Date(now.getTime() + count * 86_400_000);

  it('names its device for 180 days, and only for the account that signed in', () => {
    const token = deviceToken(vault, 'club ada@example.com', now);
    const device = readDevice(vault, 'club ada@example.com', token, now);
    expect(device).to.match(/^[0-9a-f]{24}$/);
    expect(readDevice(vault, 'club ada@example.com', token, days(179))).to.equal(device);
    expect(readDevice(vault, 'club ada@example.com', token, days(180))).to.equal(undefined);
    expect(readDevice(vault, 'club bo@example.com', token, now)).to.equal(undefined);
  });

  it('differs for each sign-in, and is invalid if a character or the key is different', () => {
    const [one, other] = [deviceToken(vault, 'a', now), deviceToken(vault, 'a', now)];
    expect(one).not.to.equal(other);
    const foreign = createVault(new Secret(Buffer.alloc(32, 8)));
    expect(readDevice(foreign, 'a', one, now)).to.equal(undefined);
    for (const spelling of ['', 'x', `${one}=`, `${one}A`, one.slice(1), `${one.slice(0, 4)}.${one.slice(5)}`])
      expect(readDevice(vault, 'a', spelling, now), spelling).to.equal(undefined);
  });
});
