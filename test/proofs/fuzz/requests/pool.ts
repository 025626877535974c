/** Values out of the scene and out of answers that later requests can use, by the kind of record that they name. */
export type ClubName = 'own' | 'other';

export interface Entry {
  readonly kind: string;
  /** How a step writes it: `{{own.course}}`, `{{s3/data/id}}`. */
  readonly template: string;
  readonly value: string;
  readonly club: ClubName;
  /** Of the scene: what belongs together there stays so. */
  readonly ofScene?: boolean;
  /** Path parameters under which it stands, as templates. */
  readonly parents?: Readonly<Record<string, string>>;
}

export class Pool {
  readonly #entries = new Map<string, Entry>();
  readonly #deleted = new Set<string>();

  /** A value that is known already keeps its first template. */
  add(entry: Entry): void {
    const key = `${entry.kind} ${entry.value.toLowerCase()}`;
    if (!this.#entries.has(key)) this.#entries.set(key, entry);
  }

  /** The record of this id was deleted. */
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

  /** Ids of every kind. The designer of an automation names its steps, so such a name is no id: a letter stands in many texts. */
  ids(club: ClubName): Entry[] {
    const isId = ({ kind, value }: Entry) => !kind.includes('.') && kind !== 'club' && /^[\da-f-]{36}$/i.test(value);
    return this.#all().filter((entry) => entry.club === club && isId(entry));
  }

  #all(): Entry[] {
    return [...this.#entries.values()];
  }
}
