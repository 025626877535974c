/** Scenarios: codes to telephone numbers. */
import type { PhoneAnswer } from '../../../domain/identity/phones/sending.ts';
import { buildPhoneCode } from '../../toolkit/builders/phone-codes.ts';
import type { Recorder, Scenarios } from '../recorder.ts';

/** @param answers the first answers of the receiver; it accepts all later messages */
async function requested({ injected, skipped }: Recorder, ...answers: PhoneAnswer[]) {
  injected.phoneAnswers = answers;
  const { id } = await buildPhoneCode(await skipped.now());
  return skipped.start('phoneCode', 'webhooks', id);
}

const away: PhoneAnswer = { outcome: 'connection_error', errorCode: 'ECONNREFUSED' };

export const phoneCodeScenarios: Scenarios = {
  phoneCode: {
    sent: (recorder) => requested(recorder),
    'sent-at-last': (recorder) => requested(recorder, away, away),
    refused: (recorder) => requested(recorder, { outcome: 'http_error', responseStatus: 422 }),
  },
};
