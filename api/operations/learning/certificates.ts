/** Certificates of a club, a student's own certificates, and the public check of a certificate by its code. */
import { Binary } from '../../../contract/contract.ts';
import * as certificates from '../../../domain/learning/certificates/certificates.ts';
import { formatCode } from '../../../domain/learning/certificates/code.policy.ts';
import { previewCertificate as drawPreview } from '../../../domain/learning/certificates/preview.ts';
import { printCertificate } from '../../../domain/learning/certificates/files.ts';
import * as reads from '../../../domain/learning/certificates/reads.ts';
import type { Deps, Operation } from '../../operation.ts';
import { data, page } from '../answers.ts';

export const listCertificates: Operation<'listCertificates'> = async ({ params, query, db }) =>
  page(await reads.listCertificates(db, params.clubId, query));

export const issueCertificate: Operation<'issueCertificate'> = async ({ params, body, deps, now }) =>
  data(await certificates.issueCertificate(deps, params.clubId, body, now));

export const getCertificate: Operation<'getCertificate'> = async ({ params, db }) =>
  data(await reads.readCertificate(db, params.clubId, params.certificateId));

export const reissueCertificate: Operation<'reissueCertificate'> = async ({ params, deps, now }) =>
  data(await certificates.reissueCertificate(deps, params.clubId, params.certificateId, now));

export const revokeCertificate: Operation<'revokeCertificate'> = async ({ params, body, deps, now }) =>
  data(await certificates.revokeCertificate(deps, params.clubId, params.certificateId, body.reason, now));

export const getCertificatePdf: Operation<'getCertificatePdf'> = async ({ params, db, deps, now }) =>
  print(deps, now, await reads.findCertificate(db, params.clubId, params.certificateId));

export const previewCertificate: Operation<'previewCertificate'> = async ({ params, actor, db, deps }) => {
  const { storage, publicUrl } = deps;
  const { bytes, language } = await drawPreview({ db, storage, publicUrl }, params, actor.id);
  return new Binary('application/pdf', bytes, `certificate-preview-${language}.pdf`);
};

export const listOwnCertificates: Operation<'listOwnCertificates'> = async ({ query, student, db }) =>
  page(await reads.listOwnCertificates(db, student.id, query));

export const getOwnCertificatePdf: Operation<'getOwnCertificatePdf'> = async ({ params, student, db, deps, now }) =>
  print(deps, now, await reads.findOwnCertificate(db, student.id, params.certificateId));

/** @throws DomainError certificate_withdrawn or certificate_revoked */
async function print(deps: Deps, now: Date, certificate: reads.CertificateRow): Promise<Binary> {
  certificates.requireValid(certificate);
  const fileName = `certificate-${formatCode(certificate.code)}.pdf`;
  return new Binary('application/pdf', await printCertificate(deps, certificate, now), fileName);
}

export const verifyCertificate: Operation<'verifyCertificate'> = async ({ params, db, deps }) =>
  data(await reads.verifyCertificate({ db, publicUrl: deps.publicUrl }, params.certificateCode));
