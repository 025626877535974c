/** Records the statements of a service process that a test starts. The process loads this file first (`node --import`). */
import { recordStatements } from './recording.ts';

recordStatements();
