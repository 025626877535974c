/**
 * Fills a club with records before the first request of the fuzzer. The owner of the club creates them through the API. Each record gets a
 * name for templates.
 */
import type { Id } from '../../../../platform/core/ids.ts';
import { type TestAdministrator } from '../../../toolkit/builders/clubs.ts';
import type { ClubName, Entry } from '../requests/pool.ts';
import { isRecord, type Json, type JsonRecord } from '../requests/step.ts';
import type { FuzzGround } from './ground.ts';

interface CreatedRecord {
  text(name: string): string;
  part(name: string): JsonRecord;
}

export class Furnishing {
  readonly ground: FuzzGround;
  readonly club: ClubName;
  readonly clubId: Id;
  readonly owner: TestAdministrator;
  readonly canary: string;
  readonly entries: Entry[] = [];

  /** @param canary a text that occurs only in the records of this club */
  constructor(ground: FuzzGround, club: ClubName, clubId: Id, owner: TestAdministrator, canary: string) {
    this.ground = ground;
    this.club = club;
    this.clubId = clubId;
    this.owner = owner;
    this.canary = canary;
  }

  /** Names a value. The default name is the kind. @param parents the path parameters of the parent records, as templates */
  name(kind: string, value: string, as = kind, parents?: Record<string, string>): void {
    const template = this.template(as);
    this.entries.push({ kind, template, value, club: this.club, ofScene: true, ...(parents && { parents }) });
  }

  template(name: string): string {
    return `{{${this.club}.${name}}}`;
  }

  /** @param more the token of a different caller, or a raw body */
  async make(method: string, path: string, body?: JsonRecord, more: object = {}): Promise<CreatedRecord> {
    const options = { token: this.owner.token, body, ...more };
    const {
      status,
      text,
      body: responseBody,
    } = await this.ground.call(method, `/v1/clubs/${this.clubId}${path}`, options);
    if (status >= 300) throw new Error(`${method} ${path}, which prepares the club, returned ${status} ${text}`);
    const record = responseBody as Json | undefined;
    const part = (name: string): JsonRecord => {
      const partOfName = isRecord(record) ? record[name] : undefined;
      if (!isRecord(partOfName)) throw new Error(`The answer to ${method} ${path} has no ${name}.`);
      return partOfName;
    };
    return {
      part,
      text(name) {
        const value = part('data')[name];
        if (typeof value !== 'string') throw new Error(`The answer to ${method} ${path} has no text ${name}.`);
        return value;
      },
    };
  }
}
