/* Search runs in a worker, and browsers start none for pages opened from a folder. There a hidden frame takes its place.
   Its name tells Zensical's offline plugin that nothing has to be fetched for this. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.onload = () => this.start(new URL(url, location).href);
      document.documentElement.appendChild(this.frame);
    }

    start(address) {
      const inside = this.frame.contentWindow;
      this.frame.onload = null;
      inside.postMessage = (data) => setTimeout(() => this.tell(new MessageEvent("message", { data })));
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        this.inside = inside;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      };
      script.onerror = () => this.tell(new ErrorEvent("error", { message: `${address} cannot be loaded` }));
      inside.document.body.appendChild(script);
    }

    tell(event) {
      this.dispatchEvent(event);
      this[`on${event.type}`]?.(event);
    }

    postMessage(data) {
      if (this.inside) setTimeout(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
