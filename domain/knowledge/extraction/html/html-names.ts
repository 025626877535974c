/**
 * Lists the names of HTML elements. In a text that is not an HTML file, `<` begins an element only before one of these names. Otherwise it
 * is a plain character, as in `List<String>`.
 */

const html = `a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink blockquote body br button canvas
  caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset figcaption figure font footer
  form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label legend li link listing main map mark
  marquee menu menuitem meta meter nav nobr noembed noframes noscript object ol optgroup option output p param picture plaintext pre progress
  q rb rbc rp rt rtc ruby s samp script search section select slot small source spacer span strike strong style sub summary sup svg table
  tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr xmp math`;
const svg = `animate animatemotion animatetransform circle clippath defs desc ellipse filter foreignobject g image line lineargradient marker mask
  metadata path pattern polygon polyline radialgradient rect set stop switch symbol text textpath tspan use view feblend fecolormatrix
  fecomponenttransfer fecomposite feconvolvematrix fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb
  fefuncg fefuncr fegaussianblur feimage femerge femergenode femorphology feoffset fepointlight fespecularlighting fespotlight fetile
  feturbulence`;
const mathml = `annotation annotation-xml maction menclose merror mfenced mfrac mglyph mi mlabeledtr mmultiscripts mn mo mover mpadded mphantom
  mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics`;

const namesIn = (text: string): string[] => text.split(/\s+/);
/**
 * The content of these elements is not HTML, up to the end tag. If a text has no end tag with one of these names, the name does not count
 * as an element.
 */
const needEnd = ['iframe', 'noembed', 'noframes', 'plaintext', 'script', 'style', 'textarea', 'title', 'xmp'];

/**
 * @returns the names that count as elements in this text. The names of SVG and MathML are included only if the text contains `<svg` or
 * `<math`
 */
export function elementNamesFor(text: string): ReadonlySet<string> {
  const names = new Set(namesIn(html));
  const lower = text.toLowerCase();
  if (lower.includes('<svg')) for (const name of namesIn(svg)) names.add(name);
  if (lower.includes('<math')) for (const name of namesIn(mathml)) names.add(name);
  for (const name of needEnd) if (!lower.includes(`</${name}`)) names.delete(name);
  return names;
}
