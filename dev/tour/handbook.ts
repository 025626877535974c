/** The handbook for the agent of the tour: a PDF of four pages, each about one subject. */
import PDFDocument from 'pdfkit';
import { buffer } from 'node:stream/consumers';

const pages = [
  {
    heading: 'Welcome aboard',
    text: 'This handbook belongs to every boat of the academy and stays on board. It says how we moor, what the weather may be, and whom to call. Ask the bosun before you ask the sea. What is printed here goes before what somebody remembers, and each page can be read by itself.',
  },
  {
    heading: 'Weather',
    text: 'Boats of the academy stay in the harbour from wind force seven on. A falling barometer is entered into the log every hour. Fog counts as weather: below five hundred metres of sight nobody leaves the berth. The forecast is read twice a day, in the morning and before the boat casts off.',
  },
  {
    heading: 'Mooring lines',
    text: 'A boat of twelve metres is moored with lines of eighteen millimetres, a boat of nine metres with lines of fourteen. The bow line is as long as the boat, the spring line half as long again. Chafed mooring lines are replaced at once and never knotted together. At spring tide the lines are slackened by one metre.',
  },
  {
    heading: 'Whom to call',
    text: 'The harbour office answers on channel twelve from six in the morning until ten at night. In distress every boat calls on channel sixteen, whatever the hour. The academy is told afterwards, by telephone, and the call is entered into the log with its time.',
  },
] as const;

/** The question of the student, and the page of the handbook that answers the question. */
export const question = 'How thick must the mooring lines of a boat of twelve metres be?';
export const answeringPage = 3;

/** @returns the bytes of the PDF */
export async function harbourHandbook(): Promise<Buffer> {
  const document = new PDFDocument({
    size: 'A5',
    margin: 48,
    autoFirstPage: false,
    info: { Title: 'Harbour Handbook' },
  });
  for (const { heading, text } of pages) {
    document.addPage();
    document.font('Helvetica-Bold').fontSize(18).text(heading).moveDown();
    document.font('Helvetica').fontSize(11).text(text, { lineGap: 3 });
  }
  document.end();
  return buffer(document);
}
