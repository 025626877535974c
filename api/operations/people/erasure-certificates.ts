/** Certificates of erasure: the erasure of a removed student for the club, the public address of a certificate, and the public keys. */
import Negotiator from 'negotiator';
import { Binary } from '../../../contract/contract.ts';
import * as certificates from '../../../domain/erasures/certificates/certificates.ts';
import { drawErasureCertificate } from '../../../domain/erasures/certificates/pdf-work.ts';
import { publishedKeys } from '../../../domain/erasures/certificates/signing-keys.ts';
import type { Operation } from '../../operation.ts';
import { data } from '../answers.ts';

export const getStudentErasure: Operation<'getStudentErasure'> = async ({ params, deps, now }) =>
  data(await certificates.readStudentErasure(deps, params, now));

export const getErasureProof: Operation<'getErasureProof'> = async ({ params, header, deps, now }) => {
  const token = params.erasureToken.replace(/\.pdf$/, '');
  if (token === params.erasureToken && !prefersPdf(header('accept')))
    return data(await certificates.readErasureProof(deps, token, now));
  const signed = await certificates.requireSignedCertificate(deps, token, now);
  const fileName = `certificate-of-erasure-${signed.certificate.erasure_id}.pdf`;
  return new Binary('application/pdf', await drawErasureCertificate(signed), fileName);
};

/** JSON is the answer for a caller without a preference. */
function prefersPdf(accept: string): boolean {
  const negotiator = new Negotiator({ headers: { accept: accept === '' ? undefined : accept } });
  return negotiator.mediaType(['application/json', 'application/pdf']) === 'application/pdf';
}

/** Programs may keep the keys for a while. A new key signs first, and a program that does not know it reads the keys again. */
export const getErasureKeys: Operation<'getErasureKeys'> = async ({ deps, answerWith }) => {
  answerWith('Cache-Control', 'public, max-age=300');
  return publishedKeys(deps.db, deps.vault);
};
