/** What furnishes a scene: records made through the API by the club's owner, and their names for templates. */
import type { Id } from '../../../../platform/core/ids.ts';
import { type TestAdministrator } from '../../../toolkit/builders/clubs.ts';
import type { ClubName, Entry } from '../requests/pool.ts';
import { isRecord, type Json, type JsonRecord } from '../requests/step.ts';
import type { FuzzGround } from './ground.ts';

interface Made {
  /** A text of the record in `data`. @throws Error where there is none */
  text(name: string): string;
  /** Another part of the answer. */
  part(name: string): JsonRecord;
}

export class Furnishing {
  readonly ground: FuzzGround;
  readonly club: ClubName;
  readonly clubId: Id;
  readonly owner: TestAdministrator;
  readonly canary: string;
  readonly entries: Entry[] = [];

  /** @param canary stands in the texts of this club's records and of no other's */
  constructor(ground: FuzzGround, club: ClubName, clubId: Id, owner: TestAdministrator, canary: string) {
    this.ground = ground;
    this.club = club;
    this.clubId = clubId;
    this.owner = owner;
    this.canary = canary;
  }

  /** Gives a value a name, the kind's own unless told. @param parents path parameters under which it stands, as templates */
  name(kind: string, value: string, as = kind, parents?: Record<string, string>): void {
    const template = this.template(as);
    this.entries.push({ kind, template, value, club: this.club, ofScene: true, ...(parents && { parents }) });
  }

  template(name: string): string {
    return `{{${this.club}.${name}}}`;
  }

  /** @param more whose token, or what is sent in place of JSON @throws Error where the record does not come about */
  async make(method: string, path: string, body?: JsonRecord, more: object = {}): Promise<Made> {
    const options = { token: this.owner.token, body, ...more };
    const { status, text, body: answered } = await this.ground.call(method, `/v1/clubs/${this.clubId}${path}`, options);
    if (status >= 300) throw new Error(`The scene lacks ${method} ${path}: ${status} ${text}`);
    const made = answered as Json | undefined;
    const part = (name: string): JsonRecord => {
      const found = isRecord(made) ? made[name] : undefined;
      if (!isRecord(found)) throw new Error(`The answer to ${method} ${path} has no ${name}.`);
      return found;
    };
    return {
      part,
      text(name) {
        const found = part('data')[name];
        if (typeof found !== 'string') throw new Error(`The answer to ${method} ${path} has no text ${name}.`);
        return found;
      },
    };
  }
}
