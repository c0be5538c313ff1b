// SPDX-License-Identifier: GPL-2.0

#include <linux/ptr_ring.h>

__rust_helper int rust_helper_ptr_ring_init(struct ptr_ring *r, int size,
					    gfp_t gfp)
{
	return ptr_ring_init(r, size, gfp);
}

__rust_helper void rust_helper_ptr_ring_cleanup(struct ptr_ring *r,
						void (*destroy)(void *))
{
	ptr_ring_cleanup(r, destroy);
}

__rust_helper int rust_helper___ptr_ring_check_produce(struct ptr_ring *r)
{
	return __ptr_ring_check_produce(r);
}

__rust_helper int rust_helper___ptr_ring_produce(struct ptr_ring *r, void *ptr)
{
	return __ptr_ring_produce(r, ptr);
}

__rust_helper void *rust_helper___ptr_ring_peek(struct ptr_ring *r)
{
	return __ptr_ring_peek(r);
}

__rust_helper bool rust_helper___ptr_ring_empty(struct ptr_ring *r)
{
	return __ptr_ring_empty(r);
}

__rust_helper void *rust_helper___ptr_ring_consume(struct ptr_ring *r)
{
	return __ptr_ring_consume(r);
}

__rust_helper int rust_helper___ptr_ring_consume_batched(struct ptr_ring *r,
							 void **array, int n)
{
	return __ptr_ring_consume_batched(r, array, n);
}

__rust_helper void rust_helper_ptr_ring_unconsume(struct ptr_ring *r,
						  void **batch, int n,
						  void (*destroy)(void *))
{
	ptr_ring_unconsume(r, batch, n, destroy);
}

__rust_helper int rust_helper_ptr_ring_resize(struct ptr_ring *r, int size,
					      gfp_t gfp,
					      void (*destroy)(void *))
{
	return ptr_ring_resize(r, size, gfp, destroy);
}

__rust_helper int
rust_helper_ptr_ring_resize_multiple_bh(struct ptr_ring **rings,
					unsigned int nrings, int size,
					gfp_t gfp, void (*destroy)(void *))
{
	return ptr_ring_resize_multiple_bh(rings, nrings, size, gfp, destroy);
}
