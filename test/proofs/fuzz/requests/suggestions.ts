/** Suggests values that the service accepts: existing ids, addresses, tokens and codes, by the names of fields. */
import type { ContractOperation } from '../../../../contract/contract.ts';
import { password } from '../../../toolkit/builders/clubs.ts';
import { bodies } from './bodies.ts';
import type { Draw } from './draw.ts';
import type { Pool } from './pool.ts';
import { kindOfProperty } from './record-kinds.ts';
import { oneOf, someReference, type Shares } from './references.ts';
import type { Json } from './step.ts';
import type { Place, Suggest } from './values.ts';

/**
 * This share of texts repeats a text that the service accepted in this field, to test that names and codes are unique.
 */
const repeatedOf = 0.08;
/** The share of requests that use the special body of their operation. */
const wholeBodyOf = 0.75;

const timeZones = [
  ...Intl.supportedValuesOf('timeZone'),
  // Time zones that either the runtime or the database may not know.
  ...'UTC utc GMT Zulu EST EST5EDT CET PRC Factory localtime posixrules posix/UTC right/UTC Etc/GMT+12 Etc/GMT-14'.split(
    ' ',
  ),
  ...'Etc/Unknown europe/lisbon US/Pacific-New Mars/Base UTC+3 GMT+03 default infinity Asia/Hanoi America/Coyhaique'.split(
    ' ',
  ),
];
const urls = [
  'https://93.184.216.34/hooks/club',
  'https://hooks.example.com/in?club=1',
  'https://hooks.example.com:8443/#fragment',
  'https://user:secret@hooks.example.com/',
  'https://hooks.example.com/\tspace here\n',
  'https://bücher.example/ä',
  'http://hooks.example.com/',
  'https://localhost/',
  'https://127.0.0.1/',
  'https://[::1]/',
  'https://2130706433/',
  'https://',
  'ftp://hooks.example.com/',
  'not an address',
];

/** Each prepared automation has only one published version, with the number 1. */
const firstNumber = (draw: Draw) => (draw.chance(0.8) ? 1 : undefined);

const byName: Readonly<Record<string, (draw: Draw, pool: Pool) => Json | undefined>> = {
  email: (draw, pool) => (draw.chance(0.35) ? oneOf('student.email', 'administrator.email')(draw, pool) : undefined),
  password: (draw) => (draw.chance(0.7) ? password : undefined),
  public_id: (draw, pool) =>
    draw.chance(0.1) ? oneOf('course.public_id', 'lesson.public_id', 'agent.public_id')(draw, pool) : undefined,
  registration_code: oneOf('link.code'),
  token: oneOf('mail.student_verify_email', 'mail.administrator_verify_email', 'mail.student_reset_password'),
  language: (draw) => (draw.chance(0.9) ? draw.pick(['en', 'pt-BR', 'es', 'de', 'ar']) : undefined),
  time_zone: (draw) => (draw.chance(0.9) ? draw.pick(timeZones) : undefined),
  url: (draw) => (draw.chance(0.5) ? 'https://hooks.example.com/club' : draw.pick(urls)),
  platform: (draw) => (draw.chance(0.7) ? 'generic' : undefined),
  external_id: (draw, pool) => (draw.chance(0.1) ? oneOf('product.external_id')(draw, pool) : undefined),
  q: (draw, pool) => (draw.chance(0.5) ? oneOf('student.email', 'certificate.code', 'canary')(draw, pool) : undefined),
  since: (draw) => (draw.chance(0.7) ? `{{now:-${draw.between(0, 40 * 86_400)}}}` : undefined),
  version: firstNumber,
  month: (draw) => (draw.chance(0.4) ? '2026-11' : undefined),
};

export function suggestionsFor(draw: Draw, pool: Pool, operation: ContractOperation, shares: Shares): Suggest {
  return (place, schema) => {
    if (place.length === 0) return draw.chance(wholeBodyOf) ? bodies[operation.operationId]?.(draw, pool) : undefined;
    if (schema['type'] === 'array' || schema['type'] === 'object') return undefined;
    const name = nameAt(place);
    // The caller chooses this id. Some requests use an id that is already in use, because the service must answer them too.
    if (name === 'id') return draw.chance(0.15) ? oneOf(clientIdKind(operation))(draw, pool) : undefined;
    const kind = kindOfProperty(name);
    if (kind === 'club') return draw.chance(0.9) ? '{{own.club}}' : draw.pick(['{{other.club}}', '{{uuid:1}}']);
    if (kind !== undefined && schema['format'] === 'uuid') {
      const reference = someReference(draw, pool, kind, shares);
      return typeof reference === 'string' ? reference : reference.template;
    }
    if (schema['type'] === 'string' && draw.chance(repeatedOf)) {
      const accepted = oneOf(textKind(name))(draw, pool);
      if (accepted !== undefined) return accepted;
    }
    return byName[name]?.(draw, pool);
  };
}

function nameAt(place: Place): string {
  return place.findLast((step) => typeof step === 'string') ?? '';
}

/** Ids that callers chose for this operation. */
export const clientIdKind = ({ operationId }: Pick<ContractOperation, 'operationId'>) => `client.${operationId}`;

export const textKind = (name: string) => `text.${name}`;
