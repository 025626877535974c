/**
 * Draws the operation and the kind of the next request from a deck of cards. The first cards have each kind of request once for each
 * operation. The later cards mix all kinds.
 */
import type { ContractOperation, OperationId } from '../../../contract/contract.ts';
import { everyOperation } from '../../toolkit/drive/every-operation.ts';
import type { Draw } from './requests/draw.ts';
import { usualWishes, type Wishes } from './requests/generate.ts';
import { foreign, newest, ofScene } from './requests/references.ts';

interface Card {
  readonly operation: ContractOperation;
  readonly wishes: Wishes;
}

const good: Wishes = { faulty: 0, permitted: 100, beside: 0, inPath: ofScene, inBody: ofScene };

const namesRecordInPath = ({ pathParameters }: ContractOperation) => pathParameters.some((name) => name !== 'clubId');
const isWrite = ({ method }: ContractOperation) => method !== 'get';

interface Pass {
  readonly of: (operation: ContractOperation) => boolean;
  readonly wishes: Wishes;
}

/** Operations that need the records of other operations, and operations that remove records. */
const late = /confirm$|verify-email$|exchange$|accept$|restore$|enable$|unarchive$|reissue$|replay$|resend$|complete$/;
const isLate = ({ path }: ContractOperation) => late.test(path);
const takesAway = ({ method, path }: ContractOperation) =>
  method === 'delete' || /revoke$|archive$|disable$|cancel$/.test(path);

/** The cases that every run begins with, in order. */
const passes: readonly Pass[] = [
  { of: (operation) => !isLate(operation) && !takesAway(operation), wishes: good },
  { of: isLate, wishes: good },
  { of: (operation) => takesAway(operation) && !isLate(operation), wishes: { ...good, inPath: newest } },
  { of: namesRecordInPath, wishes: { ...good, inPath: foreign } },
  { of: ({ hasBody }) => hasBody, wishes: { ...good, inBody: foreign } },
  { of: () => true, wishes: { ...good, faulty: 100 } },
  { of: isWrite, wishes: { ...good, beside: 100 } },
  { of: () => true, wishes: { ...good, permitted: 0 } },
];

/** The share of requests that go to the operation that the command line names. */
const chosenShare = 0.6;

export class Deck {
  readonly draw: Draw;
  readonly chosenOperation: OperationId | undefined;
  #pass = 0;
  #rest: Card[] = [];
  readonly #succeeded = new Set<OperationId>();

  constructor(draw: Draw, chosenOperation: OperationId | undefined) {
    this.draw = draw;
    this.chosenOperation = chosenOperation;
  }

  next(): Card {
    const chosen = everyOperation.find(({ operationId }) => operationId === this.chosenOperation);
    if (chosen && this.draw.chance(chosenShare)) return { operation: chosen, wishes: usualWishes };
    for (;;) {
      const card = this.#rest.pop();
      if (card) return card;
      this.#rest = this.draw.shuffled(this.#cards());
    }
  }

  noteStatus({ operationId }: ContractOperation, status: number): void {
    if (status >= 200 && status < 300) this.#succeeded.add(operationId);
  }

  /** After the last pass, operations that never succeeded get more cards. */
  #cards(): Card[] {
    const pass = passes[this.#pass++];
    if (pass) return everyOperation.filter(pass.of).map((operation) => ({ operation, wishes: pass.wishes }));
    const unsuccessful = everyOperation.filter(({ operationId }) => !this.#succeeded.has(operationId));
    return [
      ...everyOperation.map((operation) => ({ operation, wishes: usualWishes })),
      ...unsuccessful.flatMap((operation) => [good, usualWishes].map((wishes) => ({ operation, wishes }))),
    ];
  }
}
