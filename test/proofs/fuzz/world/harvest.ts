/** Extracts values for later requests from an answer: ids, public ids, codes, tokens and addresses, by their position. */
import type { ContractOperation } from '../../../../contract/contract.ts';
import type { ClubName, Entry } from '../requests/pool.ts';
import { kindOfAnswer, kindOfName, kindOfProperty } from '../requests/record-kinds.ts';
import { isRecord, type Json, type RequestStep } from '../requests/step.ts';

const ownNames: Readonly<Record<string, readonly string[]>> = {
  public_id: ['course', 'lesson', 'agent', 'repository', 'space', 'post'],
  code: ['link', 'certificate'],
  token: ['connection'],
  external_id: ['product'],
  email: ['student', 'administrator'],
};

/** @param body the body of the answer; for a stream, its events */
export function harvestOf(operation: ContractOperation, step: RequestStep, body: Json, club: ClubName): Entry[] {
  const { clubId: _, ...parents } = step.path;
  const conversation = isRecord(body) ? undefined : `{{${step.name}/0/data/conversation/id}}`;
  const among = { ...parents, ...(conversation !== undefined && { conversationId: conversation }) };
  const entries: Entry[] = [];
  const take = (kind: string, pointer: string, value: Json | undefined) => {
    if (typeof value !== 'string' || kind === 'club') return;
    entries.push({ kind, template: `{{${step.name}${pointer}}}`, value, club, parents: among });
  };
  const look = (value: Json, pointer: string, kind: string): void => {
    if (Array.isArray(value)) {
      for (const [position, item] of (value as readonly Json[]).entries()) look(item, `${pointer}/${position}`, kind);
      return;
    }
    if (!isRecord(value)) return;
    for (const [name, part] of Object.entries(value)) {
      const here = `${pointer}/${name}`;
      if (name === 'id') take(kind, here, part);
      else if (ownNames[name]?.includes(kind)) take(`${kind}.${name}`, here, part);
      else if (name.endsWith('_public_id'))
        take(`${kindOfName(name.slice(0, -'_public_id'.length))}.public_id`, here, part);
      else if (kindOfProperty(name) !== undefined) takeIds(kindOfProperty(name) ?? '', here, part);
      else look(part, here, name === 'data' || name === 'upload' ? kind : kindOfName(name));
    }
  };
  const takeIds = (kind: string, pointer: string, value: Json) => {
    if (!Array.isArray(value)) return take(kind, pointer, value);
    for (const [position, item] of (value as readonly Json[]).entries()) take(kind, `${pointer}/${position}`, item);
  };
  look(body, '', kindOfAnswer(operation));
  return entries;
}

export function textAt(body: Json | undefined, pointer: string): string | undefined {
  let at: Json | undefined = body;
  for (const step of pointer.split('/').slice(1))
    at = Array.isArray(at) ? (at as readonly Json[])[Number(step)] : isRecord(at) ? at[step] : undefined;
  return typeof at === 'string' ? at : undefined;
}
