/** Facts about a screen, collected inside the browser. screen-check.ts bundles this and runs it there. */
/** Returns `ScreenFacts` of screen-check.ts. */
export function screenFacts() {
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id);
  return {
    title: document.title,
    language: document.documentElement.lang,
    overflow: document.documentElement.scrollWidth - window.innerWidth,
    headings: document.querySelectorAll('h1').length,
    landmarks: ['header', 'main', 'nav', 'footer'].filter((name) => document.querySelector(name)),
    idsTwice: ids.filter((id, index) => ids.indexOf(id) !== index),
    faintTexts: [...new Set(faintTexts())],
    faintFields: faintFields(),
    smallTargets: smallTargets(),
  };
}

/** The pixels that WCAG 2.2 requires of a target (2.5.8). */
const TARGET_MIN = 24;

function smallTargets(): string[] {
  return [...document.querySelectorAll<HTMLElement>('button, select, summary, textarea, input[type="text"]')]
    .filter((element) => {
      const { width, height } = element.getBoundingClientRect();
      return width > 0 && Math.min(Math.round(width), Math.round(height)) < TARGET_MIN;
    })
    .map((element) => `${element.tagName} ${element.className}: ${element.textContent.slice(0, 40)}`);
}

const NOT_READ = '[aria-hidden="true"], :disabled, .unseen, noscript, svg, .skip';

/** Texts with less contrast than WCAG 2.2 requires (1.4.3): 4.5, or 3 for large letters. */
function* faintTexts(): Generator<string> {
  const palette = new Palette();
  for (const element of document.body.querySelectorAll<HTMLElement>('*')) {
    const text = [...element.childNodes]
      .find((node) => node.nodeType === 3 && node.nodeValue?.trim())
      ?.nodeValue?.trim();
    if (!text || element.closest(NOT_READ)) continue;
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const style = getComputedStyle(element);
    const contrast = palette.contrast(groundsOf(element), style.color);
    const size = Number.parseFloat(style.fontSize);
    const isLarge = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (contrast < (isLarge ? 3 : 4.5)) {
      yield `${contrast.toFixed(2)} ${element.tagName} ${element.className}: ${text.slice(0, 40)}`;
    }
  }
}

/** Fields whose border has less contrast than WCAG 2.2 requires (1.4.11): 3. */
function faintFields(): string[] {
  const palette = new Palette();
  return [...document.querySelectorAll<HTMLElement>('input[type="text"], select, textarea')]
    .filter((field) => field.checkVisibility() && field.parentElement)
    .map((field) => ({
      field,
      contrast: palette.contrast(groundsOf(field.parentElement!), getComputedStyle(field).borderTopColor),
    }))
    .filter(({ contrast }) => contrast < 3)
    .map(({ field, contrast }) => `${contrast.toFixed(2)} ${field.tagName} ${field.className}`);
}

/** The background colours under an element, the lowest first. */
function groundsOf(element: HTMLElement): string[] {
  const grounds = ['white'];
  for (let at: HTMLElement | null = element; at; at = at.parentElement)
    grounds.splice(1, 0, getComputedStyle(at).backgroundColor);
  return grounds;
}

/** The colour that results when colours are painted over one another. A canvas reads every notation of colours. */
class Palette {
  readonly #context: CanvasRenderingContext2D;

  constructor() {
    const canvas = document.createElement('canvas');
    canvas.width = 1;
    canvas.height = 1;
    this.#context = canvas.getContext('2d', { willReadFrequently: true })!;
  }

  contrast(grounds: readonly string[], colour: string): number {
    const lights = [this.luminance(grounds), this.luminance([...grounds, colour])];
    return (Math.max(...lights) + 0.05) / (Math.min(...lights) + 0.05);
  }

  luminance(colours: readonly string[]): number {
    const context = this.#context;
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    const [red = 0, green = 0, blue = 0] = [...context.getImageData(0, 0, 1, 1).data].map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }
}
