/** Stores a copy of every fact of a schedule, because relays delete the facts that they have handled. */
import type { Id } from '../../../../platform/core/ids.ts';
import type { Simulation } from '../simulation.ts';

interface ToldFact {
  type: string;
  studentId: Id;
  subjectId: Id | null;
}

const keepFacts = `
  CREATE TABLE IF NOT EXISTS simulation.facts_told (type text, student_id uuid, subject_id uuid);
  TRUNCATE simulation.facts_told;
  CREATE OR REPLACE FUNCTION simulation.keep_fact() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO simulation.facts_told VALUES (NEW.type, NEW.student_id, NEW.subject_id);
    RETURN NULL;
  END $$;
  CREATE OR REPLACE TRIGGER facts_kept AFTER INSERT ON facts FOR EACH ROW EXECUTE FUNCTION simulation.keep_fact();`;

/** Stores a copy of each fact from now on, even if the transaction of the fact is already open. */
export async function keepToldFacts(sim: Simulation): Promise<() => Promise<ToldFact[]>> {
  await sim.postgres.ask(keepFacts);
  return () =>
    sim.postgres.ask<ToldFact>(
      `SELECT type, student_id AS "studentId", subject_id AS "subjectId" FROM simulation.facts_told`,
    );
}
