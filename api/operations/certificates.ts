/** Certificates of a club, a student's own, and what anyone learns of one by its code. */
import { Binary } from '../../contract/contract.ts';
import { formatCode } from '../../domain/learning/certificates/code.policy.ts';
import { certificatePdf } from '../../domain/learning/certificates/pdf.ts';
import {
  findCertificate,
  findCertificateByCode,
  findOwnCertificate,
  listCertificates as list,
  listOwnCertificates as listOwn,
  type Certificate,
} from '../../domain/learning/certificates/reads.ts';
import { presentCertificate, presentVerification } from '../../domain/learning/certificates/records.ts';
import {
  issueCertificate as issue,
  reissueCertificate as reissue,
  requireValid,
  revokeCertificate as revoke,
} from '../../domain/learning/certificates/certificates.ts';
import type { Operation } from '../operation.ts';
import { listed } from './answers.ts';

export const listCertificates: Operation<'listCertificates'> = async ({ params, query, services }) => {
  const { rows, total } = await list(services.database, params.clubId, query);
  return listed({ rows: rows.map(presentCertificate), total });
};

export const issueCertificate: Operation<'issueCertificate'> = async ({ params, body, services, now }) => ({
  data: presentCertificate(await issue(services, params.clubId, body, now)),
});

export const getCertificate: Operation<'getCertificate'> = async ({ params, services }) => ({
  data: presentCertificate(await findCertificate(services.database, params.clubId, params.certificateId)),
});

export const reissueCertificate: Operation<'reissueCertificate'> = async ({ params, services }) => ({
  data: presentCertificate(await reissue(services, params.clubId, params.certificateId)),
});

export const revokeCertificate: Operation<'revokeCertificate'> = async ({ params, body, services, now }) => ({
  data: presentCertificate(await revoke(services, params.clubId, params.certificateId, body.reason, now)),
});

export const getCertificatePdf: Operation<'getCertificatePdf'> = async ({ params, services }) =>
  print(await findCertificate(services.database, params.clubId, params.certificateId));

export const listOwnCertificates: Operation<'listOwnCertificates'> = async ({ query, student, services }) => {
  const { rows, total } = await listOwn(services.database, student.id, query);
  return listed({ rows: rows.map(presentCertificate), total });
};

export const getOwnCertificatePdf: Operation<'getOwnCertificatePdf'> = async ({ params, student, services }) =>
  print(await findOwnCertificate(services.database, student.id, params.certificateId));

/** @throws DomainError certificate_withdrawn, certificate_revoked: nothing is printed that does not verify */
async function print(certificate: Certificate): Promise<Binary> {
  requireValid(certificate);
  return new Binary(
    'application/pdf',
    await certificatePdf(certificate),
    `certificate-${formatCode(certificate.code)}.pdf`,
  );
}

export const verifyCertificate: Operation<'verifyCertificate'> = async ({ params, services }) => ({
  data: presentVerification(await findCertificateByCode(services.database, params.certificateCode)),
});
