/** Tests that every change of a valid answer is refused, with the same undefined result (PKY-4). */
import { generateKeyPairSync } from 'node:crypto';
import { isoCBOR } from '@simplewebauthn/server/helpers';
import { expect } from 'chai';
import fc from 'fast-check';
import type { RecordOf } from '../../../../contract/contract.ts';
import { requestOptions } from '../../../../domain/identity/passkeys/assertions.ts';
import { idAsBytes } from '../../../../domain/identity/passkeys/user-handles.ts';
import {
  challengeIn,
  verifyAssertion,
  verifyRegistration,
  type KnownCredential,
} from '../../../../domain/identity/passkeys/verification.ts';
import { newId } from '../../../../platform/core/ids.ts';
import {
  coseKeyOf,
  SoftwareAuthenticator,
  type Deviations,
  type KeyKind,
} from '../../../toolkit/fakes/authenticator.ts';

type Assertion = RecordOf<'PasskeyAssertion'>;
type Registration = RecordOf<'PasskeyRegistration'>;

const page = { rpId: 'harbour.example.com', origin: 'https://harbour.example.com', challenge: 'Y2hhbGxlbmdl' };
const ownerId = newId();
const kinds: readonly KeyKind[] = ['P-256', 'Ed25519', 'RSA'];

const creation = {
  rp: { id: page.rpId, name: 'Harbour' },
  user: { id: idAsBytes(ownerId).toString('base64url'), name: 'a@example.com', displayName: 'A' },
  challenge: page.challenge,
} as RecordOf<'PasskeyCreationOptions'>;
const request = requestOptions(page.rpId, page.challenge);

interface Registered {
  authenticator: SoftwareAuthenticator;
  credential: KnownCredential;
}

async function register(kind: KeyKind, counts = true): Promise<Registered> {
  const authenticator = new SoftwareAuthenticator(page.origin, { kind, counts });
  const created = await verifyRegistration(authenticator.create(creation), page);
  if (!created) throw new Error('The authenticator was refused');
  return { authenticator, credential: { ownerId, publicKey: created.publicKey, counter: created.counter } };
}

/** Checks an answer as the sign-in does: first the challenge of the client data, then the other parts. */
async function isAccepted(assertion: Assertion, credential: KnownCredential | undefined): Promise<boolean> {
  if (challengeIn(assertion) !== page.challenge) return false;
  return (await verifyAssertion(assertion, page, credential, { needsHandle: true })) !== undefined;
}

async function isRegistered(registration: Registration): Promise<boolean> {
  if (challengeIn(registration) !== page.challenge) return false;
  return (await verifyRegistration(registration, page)) !== undefined;
}

const deviations: Readonly<Record<string, Deviations>> = {
  'another type of client data': { type: 'payment.get' },
  'another challenge': { challenge: 'b3RoZXI' },
  'another origin': { origin: 'https://harbour.example.com.attacker.example' },
  'another port': { origin: 'https://harbour.example.com:8443' },
  'an origin without TLS': { origin: 'http://harbour.example.com' },
  'a frame of a foreign page': { crossOrigin: true },
  'a foreign page around the frame': { crossOrigin: true, topOrigin: 'https://attacker.example' },
  'a foreign page without a frame': { topOrigin: 'https://attacker.example' },
  'another domain': { rpId: 'example.com' },
  'no verification of the person': { userVerified: false },
  'no presence of the person': { userPresent: false },
};

describe('the answer of an authenticator', () => {
  for (const kind of kinds)
    it(`is accepted from an honest authenticator with a key of the kind ${kind}`, async () => {
      const { authenticator, credential } = await register(kind);
      expect(await isAccepted(authenticator.get(request), credential)).to.equal(true);
    });

  for (const [name, deviation] of Object.entries(deviations)) {
    it(`is refused for a sign-in with ${name}, although its signature is right`, async () => {
      const { authenticator, credential } = await register('P-256');
      expect(await isAccepted(authenticator.get(request, deviation), credential)).to.equal(false);
    });

    it(`is refused for a registration with ${name}`, async () => {
      const registration = new SoftwareAuthenticator(page.origin).create(creation, deviation);
      expect(await isRegistered(registration)).to.equal(false);
    });
  }

  it('is refused with the type of the other ceremony', async () => {
    const { authenticator, credential } = await register('P-256');
    expect(await isAccepted(authenticator.get(request, { type: 'webauthn.create' }), credential)).to.equal(false);
    const registration = authenticator.create(creation, { type: 'webauthn.get' });
    expect(await isRegistered(registration)).to.equal(false);
  });

  it('is refused with a counter that does not grow', async () => {
    const { authenticator, credential } = await register('P-256');
    const known = { ...credential, counter: 7 };
    const accepted = [];
    for (const counter of [0, 6, 7, 8]) accepted.push(await isAccepted(authenticator.get(request, { counter }), known));
    expect(accepted).to.deep.equal([false, false, false, true]);
  });

  it('is refused without a user handle, or with the handle of another account', async () => {
    const { authenticator, credential } = await register('P-256');
    const other = idAsBytes(newId()).toString('base64url');
    for (const userHandle of [undefined, '', other])
      expect(await isAccepted(authenticator.get(request, { userHandle }), credential)).to.equal(false);
  });

  it('is refused with the key of another passkey, and without a passkey', async () => {
    const { authenticator } = await register('P-256');
    for (const kind of kinds)
      expect(await isAccepted(authenticator.get(request), (await register(kind)).credential)).to.equal(false);
    expect(await isAccepted(authenticator.get(request), undefined)).to.equal(false);
  });

  it('is refused after a change of any single bit of any signed part', async () => {
    const fields = ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'] as const;
    const registered = await Promise.all(kinds.map((kind) => register(kind)));
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...registered),
        fc.constantFrom(...fields),
        fc.nat(),
        fc.nat(7),
        async ({ authenticator, credential }, field, place, bit) => {
          const assertion = authenticator.get(request);
          const bytes = Buffer.from(assertion.response[field] ?? '', 'base64url');
          const at = place % bytes.length;
          bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
          const changed = { ...assertion.response, [field]: bytes.toString('base64url') };
          expect(await isAccepted({ ...assertion, response: changed }, credential)).to.equal(false);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('is refused if any part is cut off, extended, or spelled in another way', async () => {
    const { authenticator, credential } = await register('P-256');
    const spoil: readonly ((text: string) => string)[] = [
      (text) => text.slice(0, -1),
      (text) => text.slice(4),
      (text) => `${text}AAAA`,
      (text) => `${text}=`,
      (text) => `${text}\n`,
      (text) => (text.length % 4 === 0 ? `${text}A` : `${text.slice(0, -1)}${nextLetter(text.at(-1) ?? 'A')}`),
      () => '',
    ];
    for (const change of spoil) {
      const honest = () => authenticator.get(request);
      for (const field of ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'] as const) {
        const assertion = honest();
        const response = { ...assertion.response, [field]: change(assertion.response[field] ?? '') };
        expect(await isAccepted({ ...assertion, response }, credential), `${field} ${String(change)}`).to.equal(false);
      }
      const { id, ...rest } = honest();
      expect(await isAccepted({ ...rest, id: change(id) }, credential), `id ${String(change)}`).to.equal(false);
      const { rawId, ...others } = honest();
      expect(await isAccepted({ ...others, rawId: change(rawId) }, credential), `rawId ${String(change)}`).to.equal(
        false,
      );
    }
    expect(await isAccepted({ ...authenticator.get(request), type: 'password' }, credential)).to.equal(false);
  });

  it('is refused if its client data are no object', async () => {
    const { authenticator, credential } = await register('P-256');
    for (const text of ['', 'null', '[]', '"x"', '7', '{', '{"challenge":7}', '[['.repeat(1_000)]) {
      const assertion = authenticator.get(request);
      const response = { ...assertion.response, clientDataJSON: Buffer.from(text).toString('base64url') };
      expect(await isAccepted({ ...assertion, response }, credential), text).to.equal(false);
    }
  });
});

/** Another letter with the same leading bits: a second spelling of the same bytes. */
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const nextLetter = (letter: string) => letters.charAt(letters.indexOf(letter) ^ 1);

describe('a new passkey', () => {
  const bytes = (length: number) => new Uint8Array(length).fill(1);
  const withKey = (entries: [number, number | Uint8Array][]) =>
    isRegistered(new SoftwareAuthenticator(page.origin).create(creation, { publicKey: new Map(entries) }));

  it('is refused with a key of another kind, curve or length', async () => {
    const refused: [number, number | Uint8Array][][] = [
      [],
      [[1, 2]],
      [
        [1, 2],
        [3, -7],
        [-1, 2],
        [-2, bytes(48)],
        [-3, bytes(48)],
      ],
      [
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, bytes(31)],
        [-3, bytes(32)],
      ],
      [
        [1, 2],
        [3, -35],
        [-1, 2],
        [-2, bytes(48)],
        [-3, bytes(48)],
      ],
      [
        [1, 2],
        [3, -47],
        [-1, 8],
        [-2, bytes(32)],
        [-3, bytes(32)],
      ],
      [
        [1, 1],
        [3, -8],
        [-1, 7],
        [-2, bytes(57)],
      ],
      [
        [1, 3],
        [3, -8],
        [-1, 6],
        [-2, bytes(32)],
      ],
      [
        [1, 3],
        [3, -65535],
        [-1, bytes(256)],
        [-2, bytes(3)],
      ],
      [
        [1, 3],
        [3, -257],
        [-1, bytes(128)],
        [-2, bytes(3)],
      ],
      [
        [1, 3],
        [3, -257],
        [-1, bytes(2_048)],
        [-2, bytes(3)],
      ],
      [
        [1, 3],
        [3, -257],
        [-1, bytes(256)],
        [-2, bytes(256)],
      ],
    ];
    for (const entries of refused) expect(await withKey(entries), JSON.stringify(entries)).to.equal(false);
  });

  it('is accepted if it attests itself, and refused with certificates or another format', async () => {
    const create = (format: string, statement: Map<string, Uint8Array[]>) =>
      isRegistered(new SoftwareAuthenticator(page.origin).create(creation, { format, statement }));
    const certificates = new Map([['x5c', [bytes(8)]]]);
    for (const format of ['packed', 'tpm', 'apple', 'fido-u2f', 'android-key', 'android-safetynet', 'none', 'new'])
      expect(await create(format, certificates), format).to.equal(false);
    expect(await create('none', new Map())).to.equal(true);
  });

  it('is refused with an id that differs from the id in its signed data', async () => {
    const registration = new SoftwareAuthenticator(page.origin).create(creation);
    const other = Buffer.alloc(32, 7).toString('base64url');
    expect(await isRegistered({ ...registration, id: other, rawId: other })).to.equal(false);
  });

  it('is refused within 250 ms if its CBOR is hostile', async () => {
    const most = 6_144;
    const hostile = {
      'nested lists': Buffer.alloc(most, 0x81),
      'nested tags': Buffer.alloc(most, 0xc0),
      'nested maps': Buffer.concat(Array.from({ length: most / 2 }, () => Buffer.of(0xa1, 0x00))),
      'a list of 2^32 items': Buffer.concat([Buffer.of(0x9b, 0, 0, 0, 1, 0, 0, 0, 0), Buffer.alloc(most - 9)]),
      'a text of 2^53 bytes': Buffer.concat([Buffer.of(0x7b, 0, 31, 255, 255, 255, 255, 255, 255), Buffer.alloc(64)]),
      'a text that is not UTF-8': Buffer.concat([Buffer.of(0x79, 0x17, 0xf0), Buffer.alloc(6_128, 0xff)]),
      nothing: Buffer.alloc(0),
      'more bytes than allowed': Buffer.from(
        isoCBOR.encode(
          new Map([
            ['fmt', 'none'],
            ['padding', 'x'.repeat(most)],
          ]),
        ),
      ),
    };
    const registration = new SoftwareAuthenticator(page.origin).create(creation);
    for (const [name, object] of Object.entries(hostile)) {
      const response = { ...registration.response, attestationObject: object.toString('base64url') };
      const before = performance.now();
      expect(await isRegistered({ ...registration, response }), name).to.equal(false);
      expect(performance.now() - before, name).to.be.below(250);
    }
  });

  it('is refused after a change of any byte that is not part of its key or make', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const authenticator = new SoftwareAuthenticator(page.origin);
    const registration = authenticator.create(creation, { publicKey: coseKeyOf('P-256', publicKey) });
    const object = Buffer.from(registration.response.attestationObject, 'base64url');
    const start = object.indexOf(authenticator.credentialId);
    const isFree = (at: number) => at >= start - 22 && at < start - 2; // the counter, and the make of the authenticator
    for (let at = 0; at < start + 32; at++) {
      if (isFree(at)) continue;
      const changed = Buffer.from(object);
      changed.writeUInt8(changed.readUInt8(at) ^ 0x45, at);
      const response = { ...registration.response, attestationObject: changed.toString('base64url') };
      expect(await isRegistered({ ...registration, response }), `byte ${at}`).to.equal(false);
    }
  });
});
