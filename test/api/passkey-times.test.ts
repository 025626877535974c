/** Tests that the time of a sign-in does not reveal whether a passkey exists (PKY-4). */
import { expect } from 'chai';
import { buildAdministrator, buildClub, buildStudent } from '../toolkit/builders/clubs.ts';
import { expectSameTime, type TimedCall } from '../toolkit/assert/same-time.ts';
import {
  addPasskey,
  ofAdministrators,
  ofStudentsOf,
  sendAssertion,
  signInOptions,
  type PasskeyPaths,
} from '../toolkit/drive/passkeys.ts';
import { SoftwareAuthenticator } from '../toolkit/fakes/authenticator.ts';

describe('the time of a sign-in with a passkey', function () {
  this.timeout(240_000);

  /** A wrong signature of an authenticator: it signs the data of another origin, and then sends the right data. */
  const wrongAnswer =
    (paths: PasskeyPaths, authenticator: SoftwareAuthenticator): TimedCall =>
    async () => {
      const options = await signInOptions(paths);
      const { signature } = authenticator.get(options, { origin: 'https://other.example.com' }).response;
      const assertion = authenticator.get(options);
      return async () => {
        const answer = await sendAssertion(paths, { ...assertion, response: { ...assertion.response, signature } });
        expect(answer.status).to.equal(401);
      };
    };

  for (const [who, build] of [
    ['an administrator', async () => ({ paths: ofAdministrators, token: (await buildAdministrator()).token })],
    [
      'a student',
      async () => {
        const club = await buildClub();
        return { paths: await ofStudentsOf(club.id), token: (await buildStudent(club.id)).token };
      },
    ],
  ] as const)
    it(`does not reveal whether a passkey of ${who} exists`, async () => {
      const { paths, token } = await build();
      const known = await addPasskey(paths, token);
      const unknown = new SoftwareAuthenticator(paths.origin);
      await expectSameTime({ known: wrongAnswer(paths, known), unknown: wrongAnswer(paths, unknown) });
    });
});
