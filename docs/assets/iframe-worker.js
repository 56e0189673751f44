// Browsers start no worker from a page on the disk. There a frame takes its place, so that the search works.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.receive(data);
      inner.importScripts = (...scripts) =>
        scripts.reduce((before, script) => before.then(() => load(inner.document, script)), Promise.resolve());
      this.ready = load(inner.document, url);
    }
    receive(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }
    postMessage(data) {
      const inner = this.frame.contentWindow;
      this.ready.then(() => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  const load = (place, url) =>
    new Promise((resolve, reject) => {
      const script = place.createElement("script");
      script.src = new URL(url, location.href).href;
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${url} could not be read`));
      place.body.append(script);
    });
}
