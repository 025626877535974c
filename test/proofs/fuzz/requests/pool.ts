/**
 * Stores ids of prepared records and of records in answers, so that later requests can use them. The ids are grouped by the kind of record.
 */
export type ClubName = 'own' | 'other';

export interface Entry {
  readonly kind: string;
  /** The template of the value in a step: `{{own.course}}`, `{{s3/data/id}}`. */
  readonly template: string;
  readonly value: string;
  readonly club: ClubName;
  /** Whether the record was prepared before the first request. */
  readonly ofScene?: boolean;
  /** The path parameters of the parent records, as templates. */
  readonly parents?: Readonly<Record<string, string>>;
}

export class Pool {
  readonly #entries = new Map<string, Entry>();
  readonly #deleted = new Set<string>();

  add(entry: Entry): void {
    const key = `${entry.kind} ${entry.value.toLowerCase()}`;
    if (!this.#entries.has(key)) this.#entries.set(key, entry);
  }

  remove(value: string): void {
    this.#deleted.add(value.toLowerCase());
  }

  isDeleted(value: string): boolean {
    return this.#deleted.has(value.toLowerCase());
  }

  living(kind: string, club: ClubName = 'own'): Entry[] {
    return this.#all().filter((entry) => entry.kind === kind && entry.club === club && !this.isDeleted(entry.value));
  }

  deleted(kind: string): Entry[] {
    return this.#all().filter((entry) => entry.kind === kind && this.isDeleted(entry.value));
  }

  /**
   * Returns the ids of all kinds of records. The result has no names of steps in automations, because authors choose these names, often as
   * single letters.
   */
  ids(club: ClubName): Entry[] {
    const isId = ({ kind, value }: Entry) => !kind.includes('.') && kind !== 'club' && /^[\da-f-]{36}$/i.test(value);
    return this.#all().filter((entry) => entry.club === club && isId(entry));
  }

  #all(): Entry[] {
    return [...this.#entries.values()];
  }
}
