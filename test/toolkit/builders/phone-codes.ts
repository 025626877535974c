/** Builds codes to telephone numbers of administrators. */
import { phoneCodeText, requestPhoneCode } from '../../../domain/identity/phones/codes.ts';
import { PhoneCode } from '../../../entities/identity/phone-code.ts';
import type { Id } from '../../../platform/core/ids.ts';
import { testDeps } from '../stack/database.ts';
import { buildAdministrator, type TestAdministrator } from './clubs.ts';

let last = 0;

/** @returns a valid mobile number of Portugal, a different one for each call */
export const someNumber = (): string =>
  `+35191${String((Date.now() % 100_000) * 100 + (last++ % 100)).padStart(7, '0')}`;

interface TestPhoneCode {
  id: Id;
  administrator: TestAdministrator;
  number: string;
  /** The six digits. */
  code: string;
}

/** An administrator with a number who requests a code. */
export async function buildPhoneCode(now = new Date()): Promise<TestPhoneCode> {
  const { db, vault } = await testDeps();
  const administrator = await buildAdministrator();
  const number = someNumber();
  await db.source.query('UPDATE administrators SET phone = $2 WHERE id = $1', [administrator.id, number]);
  await requestPhoneCode({ db, vault, phoneCodes: { isConfigured: true, perDay: 1_000_000 } }, administrator.id, now);
  const { id, keyId } = await db.manager.findOneByOrFail(PhoneCode, { administratorId: administrator.id });
  return { id, administrator, number, code: phoneCodeText(vault, id, keyId) };
}
